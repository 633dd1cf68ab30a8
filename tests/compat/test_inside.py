"""What is seen inside of a model while it trains, without being asked for; the numbers are NumPy's."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from click.testing import CliRunner
from tests.compat import kerases
from tests.compat.kerases import KERASES
from tests.compat.transformers import ByHand, keras_weights, little_transformer, numbers

import tensorsleuth
from tensorsleuth.analyze.layers.no_stats import explain_missing_stats, unrecorded_functions
from tensorsleuth.cli.main import cli
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.trace.reader import Trace
from tensorsleuth.trace.series.attention import AttentionSeries
from tensorsleuth.trace.series.watched import WatchedSeries

ROOT = Path(__file__).parents[2]
X = np.random.default_rng(1).normal(size=(3, 7, 8)).astype(np.float32)
IDS = np.random.default_rng(2).integers(0, 9, size=(8, 6)).astype(np.int32)
LABELS = np.array([1, 0, 2], np.int64)
STEPS = [0, 1, 2, 4, 8, 16, 20, 40]  # of 45, where every 20th is looked at


def agrees(found: AttentionSeries, look: int, weights: Any) -> None:
    """A look has the weights of the first two samples, and what NumPy says of all."""
    kept = found.weights(look)
    assert kept is not None
    np.testing.assert_allclose(kept, weights[:2], atol=1e-5)
    for name, expected in numbers(weights).items():
        np.testing.assert_allclose(found.statistics(look)[name], expected, atol=1e-5, err_msg=name)


def plain(series: WatchedSeries) -> str:
    """Its name, less the number where variables of an earlier test still have that name."""
    return series.name.partition(":")[0]


def test_attention_written_by_hand(compared: Callable[..., Trace]) -> None:
    def train() -> Any:
        program = ByHand()
        step = program.step()
        return [step(tf.constant(X), tf.constant(LABELS)) for _ in range(45)]

    trace = compared(train, inside_every=20)
    [found] = trace.inside().attention
    assert found.steps.tolist() == STEPS
    assert (found.heads, found.rows, found.columns, found.by) == (2, 7, 7, "probe")
    assert found.file == __file__.replace("test_inside", "transformers") and found.name == "Softmax"
    agrees(found, 0, ByHand().weights(X))
    assert trace.watched() == []


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", KERASES)
def test_attention_of_keras(recorded: Callable[..., Trace], name: str, causal: bool) -> None:
    layer = kerases.load(name).layers.MultiHeadAttention(2, 4, name="mha")
    layer(tf.constant(X), tf.constant(X))  # makes its variables
    expected = keras_weights(layer, X, causal)

    @tf.function
    def train_step(x: Any) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(layer(x, x, use_causal_mask=causal, training=True) ** 2)
        variables = layer.trainable_variables
        for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(0.1 * gradient)

    trace = recorded(lambda: [train_step(tf.constant(X)) for _ in range(3)])
    [found] = trace.inside().attention
    assert found.name == "mha" and found.steps.tolist() == [0, 1, 2]
    agrees(found, 0, expected)


@pytest.mark.parametrize("eagerly", [False, True])
def test_how_saturated_a_tanh_is(recorded: Callable[..., Trace], eagerly: bool) -> None:
    layers = [tf.keras.Input([4]), tf.keras.layers.Dense(8, "tanh", name="bent"), tf.keras.layers.Dense(1, name="out")]
    model = tf.keras.Sequential(layers, name="net")
    x = np.random.default_rng(1).normal(size=(16, 4)).astype(np.float32)
    before = np.tanh(x @ model.get_layer("bent").kernel.numpy())
    model.compile("sgd", "mse", run_eagerly=eagerly)
    trace = recorded(lambda: model.fit(x, np.ones([16, 1]), batch_size=16, epochs=2, verbose=0), inside_every=1)
    bent, out = ({one.name: one for one in trace.inside().layers}[f"net/{name}"] for name in ("bent", "out"))
    assert bent.saturated[0] == pytest.approx(np.square(before).mean(), rel=1e-3) and len(bent) == 2
    assert np.isnan(out.saturated).all()


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", KERASES)
def test_all_of_a_keras_model_that_fits(recorded: Callable[..., Trace], name: str, compiled: bool) -> None:
    keras = kerases.load(name)
    model = little_transformer(keras)
    model.compile("sgd", "mse", jit_compile=compiled)
    ids, goals = IDS[:, : model.input_shape[1]], np.ones([len(IDS), 3], np.float32)
    trace = recorded(lambda: model.fit(ids, goals, batch_size=4, epochs=3, shuffle=False, verbose=0), inside_every=4)
    inside, looks = trace.inside(), [0, 1, 2, 4, 5]
    assert [(one.name, one.by) for one in inside.attention] == [("net/mix", "replay" if compiled else "probe")]
    layers = {layer.name: layer for layer in inside.layers}
    assert [layer for layer in layers if "mix" not in layer] == [
        f"net/{layer}" for layer in ("embed", "add", "norm", "wide", "pool", "out")
    ]
    assert layers["net/wide"].units.tolist() == [16] * 5 and np.isnan(layers["net/norm"].dead).all()
    gradients = {series.name: series for series in inside.gradients}
    assert len(gradients) == len(model.trainable_variables) == len(inside.updates) == len(inside.variables)
    assert {tuple(series.steps.tolist()) for series in (*inside.gradients, *inside.updates, *layers.values())} == {
        tuple(looks)
    }
    [bias] = (series for series in inside.updates if plain(series).endswith("out/bias"))
    [slope] = (series for series in inside.gradients if plain(series).endswith("out/bias"))
    np.testing.assert_allclose(bias.norm, 0.01 * slope.norm, rtol=1e-4)  # plain SGD
    [given] = inside.inputs
    np.testing.assert_array_equal(given.value(0), ids[:4])
    np.testing.assert_array_equal(given.value(1), ids[4:])


def test_compiled_steps_are_the_same_bits(compared: Callable[..., Trace]) -> None:
    def train() -> Any:
        program = ByHand()
        step = program.step(jit_compile=True)
        losses = [step(tf.constant(X), tf.constant(LABELS)) for _ in range(5)]
        return losses, [kernel.read_value() for kernel in program.kernels.values()]

    trace = compared(train)
    [found] = trace.inside().attention
    assert found.by == "replay" and found.steps.tolist() == [0, 1, 2, 4]
    agrees(found, 0, ByHand().weights(X))
    assert [series.name for series in trace.inside().inputs] == ["train_step/labels"]


def test_a_compiled_function_that_raises_uncompiled_is_told(recorded: Callable[..., Trace]) -> None:
    program, table = ByHand(), tf.Variable(tf.ones([4, X.shape[-1]]))
    step = program.step(jit_compile=True)

    @tf.function(jit_compile=True)
    def train(ids: Any) -> None:
        step(tf.constant(X) * tf.reduce_mean(tf.gather(table, ids)), tf.constant(LABELS))

    trace = recorded(lambda: [train(tf.constant([0, 9])) for _ in range(2)])  # XLA takes another row, silently
    [entry] = trace.not_covered
    assert entry["what"] == "the inside of train between bad values" and "{{" not in entry["why"]
    assert entry["why"].startswith("XLA compiles it, and uncompiled it raises: indices[1] = 9 is not in [0, 4)")
    told = f"the inside of train between bad values was not recorded ({entry['why']})"
    assert unrecorded_functions(trace) == [told]
    assert told in explain_missing_stats(trace, trace.inside(), "attention")
    info = CliRunner(env={"COLUMNS": "400"}).invoke(cli, ["info", str(trace.path)]).stdout
    assert f"not covered  {entry['what']} ({entry['why']})" in info


def test_eager_loops_have_gradients_and_updates(recorded: Callable[..., Trace]) -> None:
    program = ByHand()
    seen: list[Any] = []

    def train() -> None:
        for _ in range(4):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(program.call(tf.constant(X)) ** 2)
            gradient = tape.gradient(loss, program.kernels["value"])
            program.kernels["value"].assign_sub(0.5 * gradient)
            seen.append(gradient.numpy())

    inside = recorded(train).inside()
    [gradient], [update] = inside.gradients, inside.updates
    assert gradient.name == update.name and plain(gradient) == "attention/value"
    assert gradient.steps.tolist() == [0, 1, 2]
    norms = [np.linalg.norm(one) for one in seen[:3]]
    np.testing.assert_allclose(gradient.norm, norms, rtol=1e-5)
    np.testing.assert_allclose(update.norm, np.multiply(norms, 0.5), rtol=1e-4)


def test_what_does_not_train_is_kept_apart_and_looked_at_once_a_step(recorded: Callable[..., Trace]) -> None:
    program = ByHand()
    step, evaluate = program.step(), tf.function(program.call)

    def train() -> None:
        for _ in range(2):
            step(tf.constant(X), tf.constant(LABELS))
            for _ in range(5):
                evaluate(tf.constant(2 * X))

    inside = recorded(train).inside()
    [trained], [evaluated] = inside.attention, inside.evaluation.attention
    assert trained.trains and not evaluated.trains
    assert trained.steps.tolist() == [0, 1] and evaluated.steps.tolist() == [1, 2]
    only = recorded(lambda: [evaluate(tf.constant(X)) for _ in range(5)]).inside()
    assert [one.steps.tolist() for one in only.attention] == [[0]]


@pytest.mark.parametrize("settings", [{"inside_every": 0}, {"mode": "SHAPE"}, {"mode": "FLIGHT"}])
def test_nothing_is_looked_at_where_it_is_off(recorded: Callable[..., Trace], settings: dict[str, Any]) -> None:
    trace = recorded(lambda: ByHand().step()(tf.constant(X), tf.constant(LABELS)), **settings)
    assert not trace.inside() and trace.inside().layers == []
    assert not (trace.processes[0].folder / "inside.bin").exists()


@pytest.mark.parametrize("settings", [{"op_regex": "Add"}, {"mode": "CURT_HEALTH"}, {"tensor_dtypes": ["float64"]}])
def test_it_is_the_same_whatever_else_is_recorded(recorded: Callable[..., Trace], settings: dict[str, Any]) -> None:
    def train() -> None:
        ByHand().step()(tf.constant(X), tf.constant(LABELS))

    rows = len(recorded(train, inside_every=0, **settings).events)
    trace = recorded(train, **settings)
    assert len(trace.events) == rows
    agrees(trace.inside().attention[0], 0, ByHand().weights(X))
    assert len(trace.inside().gradients) == 3


def test_a_watch_of_the_users_goes_on_beside_it(recorded: Callable[..., Trace]) -> None:
    def train() -> None:
        with tensorsleuth.watch(["op:Softmax", "gradient:.*", "attention/value"], every=2):
            step = ByHand().step()
            for _ in range(4):
                step(tf.constant(X), tf.constant(LABELS))

    trace = recorded(train)
    assert {series.kind for series in trace.watched()} == {"tensor", "gradient", "variable"}
    assert {tuple(series.steps.tolist()) for series in trace.watched()} == {(0, 2)}
    assert trace.inside().attention[0].steps.tolist() == [0, 1, 2]
    assert len(trace.inside().gradients) == 3


@pytest.mark.parametrize("given", [-1, 1.5, True, "often"])
def test_a_rate_that_is_none(given: Any) -> None:
    with pytest.raises(SleuthError, match=r"inside_every is .*; it must be a number of steps, such as 100, or 0"):
        tensorsleuth.record(inside_every=given)


@pytest.mark.filterwarnings("ignore")
def test_the_examples_of_the_page_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "inside.md").read_text(), re.S)
    assert len(blocks) == 2
    program = tmp_path / "page.py"
    program.write_text("\n".join(blocks))
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(program), run_name="__main__")
    out = capfd.readouterr().out
    assert "attention 4 12 12 [ 0  1  2  4  8 16 20 40]" in out and "(2, 4, 12, 12)" in out
    assert "train_step/labels [0 2]" in out and "2 layers of net" in out and "gradients of 4 variables of net" in out


def test_variables_without_names_are_told_apart(recorded: Callable[..., Trace]) -> None:
    first, second = tf.Variable(1.0), tf.Variable(2.0)

    @tf.function
    def train_step() -> None:
        with tf.GradientTape() as tape:
            loss = first * 3.0 + second * 4.0
        for variable, gradient in zip((first, second), tape.gradient(loss, [first, second]), strict=True):
            variable.assign_sub(gradient)

    inside = recorded(train_step).inside()
    assert [series.norm.tolist() for series in inside.updates] == [[3.0], [4.0]]
    names = [series.name for series in inside.updates]
    assert len(set(names)) == 2 and all(name.startswith("Variable") for name in names)


@pytest.mark.parametrize(
    ("epochs", "at_once", "every", "steps"),
    [(2, 1, 16, [0, 1, 2, 4, 7]), (2, 2, 8, [0, 1, 2, 3]), (1, 1, 9, [0, 1, 2])],
)
def test_the_last_step_of_a_fit_is_looked_at(
    recorded: Callable[..., Trace], epochs: int, at_once: int, every: int, steps: list[int]
) -> None:
    """But for fits that are short beside the rate: a program may call many of them."""
    model = tf.keras.Sequential([tf.keras.Input([8]), tf.keras.layers.Dense(1, name="out")])
    model.compile("sgd", "mse", steps_per_execution=at_once)
    x, goals = np.ones([16, 8], np.float32), np.ones([16, 1], np.float32)
    fit = lambda: model.fit(x, goals, batch_size=4, epochs=epochs, verbose=0)  # noqa: E731
    inside = recorded(fit, inside_every=every).inside()
    assert {tuple(series.steps.tolist()) for series in (*inside.updates, *inside.layers)} == {tuple(steps)}
