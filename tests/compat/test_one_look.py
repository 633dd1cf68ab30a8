"""One look at a model on a batch: a table of what leaves its layers, and of its gradients."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat import kerases
from tests.compat.kerases import KERASES
from tests.compat.transformers import little_transformer

import tensorsleuth
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.trace.reader import Trace

IDS = np.random.default_rng(2).integers(0, 9, size=(4, 6)).astype(np.int32)
GOALS = np.ones([4, 3], np.float32)


@pytest.mark.parametrize("name", KERASES)
def test_activations_are_what_the_layers_put_out(name: str) -> None:
    model = little_transformer(kerases.load(name))
    table = tensorsleuth.activations(model, (IDS, GOALS))
    lines = {line.name: line for line in table if "mix" not in line.name}
    assert list(lines) == [f"net/{layer}" for layer in ("embed", "add", "norm", "wide", "pool", "out")]
    wide = kerases.load(name).Model(model.input, model.get_layer("wide").output)
    expected = np.asarray(wide(tf.constant(IDS)), np.float64)
    line = lines["net/wide"]
    assert line.shape == (4, 6, 16) and line.health == "ok"
    assert line.dead == int((expected == 0).all((0, 1)).sum()) and lines["net/norm"].dead is None
    np.testing.assert_allclose(
        [line.mean, line.std, line.norm, line.zero],
        [expected.mean(), expected.std(), np.linalg.norm(expected), (expected == 0).mean()],
        rtol=1e-5,
    )


@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_saturation_is_the_share_of_the_slope_that_is_lost(activation: str) -> None:
    keras = tf.keras
    layers = [keras.Input([8]), keras.layers.Dense(16, activation, name="bent"), keras.layers.Dense(3, name="out")]
    model = keras.Sequential(layers, name="net")
    batch = np.random.default_rng(3).normal(size=(32, 8)).astype(np.float32)
    x = tf.constant(batch @ model.get_layer("bent").kernel.numpy())
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = keras.activations.get(activation)(x)
    lost = 1 - tape.gradient(y, x).numpy().mean() * {"tanh": 1, "sigmoid": 4}[activation]
    lines = {line.name: line for line in tensorsleuth.activations(model, batch)}
    assert lines["net/bent"].saturated == pytest.approx(lost, abs=1e-4) and lines["net/out"].saturated is None


@pytest.mark.parametrize("name", KERASES)
def test_gradients_are_those_of_a_tape(name: str) -> None:
    keras = kerases.load(name)
    model = little_transformer(keras)
    table = tensorsleuth.gradients(model, (IDS, GOALS), keras.losses.MeanSquaredError())
    with tf.GradientTape() as tape:
        loss = keras.losses.MeanSquaredError()(GOALS, model(IDS, training=True))
    expected = tape.gradient(loss, model.trainable_variables)
    norms = [np.linalg.norm(getattr(one, "values", one)) for one in expected]
    np.testing.assert_allclose([line.norm for line in table], norms, rtol=1e-4, atol=1e-7)
    assert f"{float(loss):.4g}"[:4] in str(table) and table[0].name.endswith("embed/embeddings")


def test_how_a_table_looks() -> None:
    model = little_transformer(tf.keras)
    model.get_layer("out").set_weights([np.full([16, 3], np.nan, np.float32), np.zeros(3, np.float32)])
    table = tensorsleuth.activations(model, IDS)
    text = str(table).splitlines()
    assert text[0] == f"{len(table)} layers of net"
    assert text[1].split() == ["name", "shape", "health", "mean", "std", "norm", "zero", "dead", "saturated"]
    assert text[-1].split()[:4] == ["net/out", "4×3", "12", "NaN"] and max(map(len, text)) <= 120
    assert "<td" in table._repr_html_() and "color" in table._repr_html_()
    assert table.to_dict()["name"] == [line.name for line in table]


def test_a_recording_sees_nothing_of_it(recorded: Callable[..., Trace]) -> None:
    model = little_transformer(tf.keras)
    tensorsleuth.gradients(model, (IDS, GOALS), "mse")

    def look() -> None:
        tensorsleuth.activations(model, IDS)
        tensorsleuth.gradients(model, (IDS, GOALS), "mse")

    trace = recorded(look)
    assert trace.steps == [] and trace.ops("MatMul") == []


PAIR = "gradients(model, batch, loss): the batch must be a pair, (inputs, labels)."
LOSS = "gradients(model, batch, loss): pass a loss: a function of labels and outputs, or a name."


@pytest.mark.parametrize(("batch", "loss", "said"), [(IDS, "mse", PAIR), ((IDS, GOALS), None, LOSS)])
def test_what_is_missing_is_said(batch: Any, loss: Any, said: str) -> None:
    with pytest.raises(SleuthError) as raised:
        tensorsleuth.gradients(lambda x: x, batch, loss)
    assert str(raised.value) == said


def test_what_cannot_be_plotted_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    table = tensorsleuth.activations(little_transformer(tf.keras), IDS)
    with pytest.raises(SleuthError) as raised:
        table.plot("name")
    assert str(raised.value).startswith("plot('name'): no such column of numbers; use one of mean, ")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SleuthError) as raised:
        table.plot()
    assert str(raised.value) == "plot needs matplotlib: pip install matplotlib. Or use to_dict()."


def test_gradients_of_a_name_are_those_of_break_points() -> None:
    assert tensorsleuth.gradients("encoder/.*") == "gradient:encoder/.*"
