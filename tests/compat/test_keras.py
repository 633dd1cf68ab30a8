"""Keras 3, tf-keras and the Keras in TensorFlow 2.15: nothing to change in the program, and findings in its words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat import kerases
from tests.compat.kerases import KERASES, MODELS, X, Y

import tensorsleuth
from tensorsleuth.core.finding import Finding
from tensorsleuth.trace.reader import Trace

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:random")  # what Keras 2 does when seeded

Recorded = Callable[..., Trace]


@pytest.fixture(params=KERASES)
def keras(request: pytest.FixtureRequest) -> Any:
    return kerases.load(request.param)


@pytest.mark.parametrize("kind", MODELS)
def test_the_same_bits_and_healthy(keras: Any, kind: str, compared: Recorded) -> None:
    def program() -> Any:
        keras.backend.clear_session()
        keras.utils.set_random_seed(3)
        model = MODELS[kind](keras)
        weights = {0: 1.0, 1: 2.0} if kind == "sequential" else None
        labels = (Y > 0).astype("float32") if weights else Y
        history = model.fit(X, labels, batch_size=8, epochs=2, verbose=0, class_weight=weights)
        trained = model.train_on_batch(X[:8], labels[:8]) if "several" not in kind else 0.0  # Keras 2 wants more then
        return history.history, trained, model.predict(X, verbose=0), model.get_weights()

    diagnosis = tensorsleuth.diagnose(compared(program))
    assert diagnosis.verdict == "healthy", diagnosis.findings
    assert not diagnosis.not_covered


def fit_with_a_zero_row(keras: Any, model: Any, **settings: Any) -> None:
    """The 38th of 48 rows is all zeros: batch 4 of 8 rows, in epoch 0."""
    x = X.copy()
    x[37] = 0.0
    keras.utils.set_random_seed(3)
    model.compile("adam", "mse", **settings)
    model.fit(x, Y, batch_size=8, epochs=2, shuffle=False, verbose=0)


def found(trace: Trace) -> Finding:
    return tensorsleuth.diagnose(trace).findings[0]


@pytest.mark.parametrize("eagerly", [False, True])
def test_layers_by_their_path_and_the_batch(keras: Any, eagerly: bool, recorded: Recorded) -> None:
    trace = recorded(lambda: fit_with_a_zero_row(keras, kerases.encoder(keras), run_eagerly=eagerly))
    finding = found(trace)
    assert (finding.cause, finding.code) == (
        "normalise-zero",
        "return x / tf.norm(x, axis=-1, keepdims=True)  # divides by a norm",
    )
    assert finding.layer == "encoder/block_1/unit"
    assert (finding.phase, finding.epoch, finding.batch, finding.step) == ("train", 0, 4, 4)
    assert finding.summary.endswith("at step 4 (epoch 0, batch 4).")
    layers = {op.layer for op in trace.ops()}
    assert {"encoder/block_1/ffn/dense_1", "encoder/block_2/ffn/dense_2", "encoder/block_2/unit"} <= layers
    assert {"encoder/head"} <= layers
    assert not any(layer and ("_1/" in layer.replace("block_1", "") or layer.endswith("_1_1")) for layer in layers)
    owners = {layer.split()[0] for layer in layers if layer and " " in layer}
    assert {"loss", "optimizer"} <= owners


def test_a_nested_functional_model(keras: Any, recorded: Recorded) -> None:
    model = kerases.functional(keras)
    layers = {op.layer for op in recorded(lambda: fit_with_a_zero_row(keras, model)).ops()}
    assert {"outer/inner/mix", "outer/out"} <= layers


def test_variables_by_their_path(keras: Any, recorded: Recorded) -> None:
    trace = recorded(lambda: fit_with_a_zero_row(keras, kerases.encoder(keras), metrics=["mae"]))
    names = {variable.name for variable in trace.variables()}
    assert {"encoder/block_1/ffn/dense_1/kernel", "encoder/block_2/ffn/dense_2/kernel", "encoder/head/bias"} <= names
    (end,) = [hop for hop in found(trace).chain if hop.startswith("written to")]
    assert "loss/total" in end


def test_a_metric_is_named(keras: Any, recorded: Recorded) -> None:
    class Ratio(keras.metrics.Metric):
        def __init__(self) -> None:
            super().__init__(name="ratio")
            self.total = self.add_weight(name="total", initializer="zeros")

        def update_state(self, truth: Any, guess: Any, sample_weight: Any = None) -> None:
            self.total.assign_add(tf.reduce_sum(tf.math.log(tf.nn.relu(-tf.square(guess)))))

        def result(self) -> Any:
            return self.total * 1.0

    def program() -> None:
        model = kerases.sequential(keras)
        model.compile("sgd", "mse", metrics=[Ratio()])
        model.fit(X, Y, batch_size=16, verbose=0)

    finding = found(recorded(program))
    assert (finding.cause, finding.layer, finding.batch) == ("log-zero", "metric ratio", 0)


def test_where_in_evaluate_and_predict(keras: Any, recorded: Recorded) -> None:
    def program() -> None:
        model = kerases.sequential(keras)
        model.compile("sgd", "mse")
        model.fit(X, Y, batch_size=16, epochs=2, initial_epoch=1, validation_data=(X, Y), verbose=0)
        model.evaluate(X, Y, batch_size=24, verbose=0)
        model.predict(X, batch_size=24, verbose=0)
        tf.exp(tf.constant(1.0))

    trace = recorded(program)
    rows = trace.processes[0].batches
    told = [str(rows.of_call(int(call))) for call in rows._calls]
    train = ["", "epoch 1", *(f"epoch 1, batch {n}" for n in range(3))]
    inside = ["evaluate, epoch 1", *(f"evaluate, epoch 1, batch {n}" for n in range(3)), "epoch 1, batch 2", "None"]
    rest = [[phase, f"{phase}, batch 0", f"{phase}, batch 1", "None"] for phase in ("evaluate", "predict")]
    assert told == [*train, *inside, *rest[0], *rest[1]]
    assert trace.tensors(op="Exp", epoch=1).health["batch"].tolist() == []
    assert set(trace.tensors(epoch=1, batch=range(1, 3)).health["batch"].tolist()) == {1, 2}
    first = trace.tensors(epoch=1, batch=0)[0]
    assert (first.epoch, first.batch, first.health["epoch"]) == (1, 0, 1)
    with pytest.raises(tensorsleuth.SleuthError, match="batch is 'x'; it must be a number or a range"):
        trace.tensors(batch="x")  # type: ignore[arg-type]


def test_a_fit_that_raises_leaves_no_epoch_behind(keras: Any, recorded: Recorded) -> None:
    class Stop(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            raise RuntimeError("enough")

    def program() -> None:
        model = kerases.sequential(keras)
        model.compile("sgd", "mse")
        with pytest.raises(RuntimeError, match="enough"):
            model.fit(X, Y, verbose=0, callbacks=[Stop()])
        model.fit(X, Y, batch_size=24, verbose=0)
        tf.sin(tf.constant(1.0))

    trace = recorded(program)
    assert trace.tensors(op="Sin").health["epoch"].tolist() == [-1]
    assert np.max(trace.tensors(epoch=0).health["batch"]) == 1


def test_the_guard_speaks_the_same_words(keras: Any) -> None:
    with tensorsleuth.guard(), pytest.raises(tensorsleuth.NumericsError, match="epoch 0, batch 4") as raised:
        fit_with_a_zero_row(keras, kerases.encoder(keras))
    assert raised.value.findings[0].layer == "encoder/block_1/unit"


def test_eager_layers_of_one_line_are_told_apart(recorded: Recorded) -> None:
    """Also without Keras: the name scope that Python is in. Scopes without end are not."""

    def program() -> None:
        def work(name: str) -> None:
            with tf.name_scope(name):
                tf.exp(tf.constant(1.0))

        for number in range(5000):
            work("a" if number % 2 else f"scope_{number}")

    trace = recorded(program)
    ops = trace.ops(type="Exp")
    assert "a" in {op.layer for op in ops}
    assert len(ops) < 4200
    assert len(trace.tensors(op="Exp", layer="a")) == 2500
