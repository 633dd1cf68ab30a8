"""`tensorsleuth.keras.SleuthCallback`, on every Keras that is installed."""

from __future__ import annotations

import gc
import re
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from tests.compat import kerases
from tests.compat.kerases import KERASES_IN_SHORT, X, Y
from tests.compat.looking import bits

import tensorsleuth
from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.recording import api

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:random")  # what Keras 2 does when seeded


@pytest.fixture(params=KERASES_IN_SHORT)
def keras(request: pytest.FixtureRequest) -> Any:
    return kerases.load(request.param)


def fit(keras: Any, callbacks: list[Any], x: Any = X, eagerly: bool = False, **settings: Any) -> Any:
    """Six batches an epoch, three epochs. A row of zeros makes a NaN."""
    keras.utils.set_random_seed(3)
    model = kerases.encoder(keras)
    model.compile("adam", "mse", metrics=["mae"], run_eagerly=eagerly)
    asked = {"batch_size": 8, "epochs": 3, "shuffle": False, "verbose": 0, **settings}
    return model.fit(x, Y, callbacks=callbacks, **asked).history, model.get_weights()


def zero_row() -> Any:
    x = X.copy()
    x[37] = 0.0  # in batch 4
    return x


def test_a_healthy_fit_is_as_it_was(keras: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    bare = fit(keras, [], validation_data=(X, Y))
    callback = tensorsleuth.keras.SleuthCallback(tmp_path, stop_on_nan=True)
    assert (callback.verdict, callback.run, callback.findings) == ("unknown", None, [])
    watched = fit(keras, [callback], validation_data=(X, Y), verbose=2)
    assert bits(watched) == bits(bare)
    assert (callback.verdict, callback.findings) == ("healthy", [])
    assert callback.run is not None and callback.run.parent == tmp_path
    assert api.active_recording() is None
    said = [line for line in capfd.readouterr().out.splitlines() if line.startswith("sleuth:")]
    assert [line.split(":")[1] for line in said] == [" epoch 0", " epoch 1", " epoch 2"]
    assert all(line.endswith("tensors, healthy") for line in said)


def test_a_fit_of_which_too_little_was_seen_is_unknown(keras: Any, tmp_path: Path) -> None:
    callback = tensorsleuth.keras.SleuthCallback(tmp_path, mode="SHAPE")
    fit(keras, [callback], epochs=1)
    assert (callback.verdict, callback.findings) == ("unknown", [])


@pytest.mark.parametrize("eagerly", [False, True])
def test_it_stops_at_a_nan(keras: Any, eagerly: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    callback = tensorsleuth.keras.SleuthCallback(tmp_path, stop_on_nan=True)
    history, _ = fit(keras, [callback], zero_row(), eagerly)
    assert len(history["loss"]) == 1
    finding = callback.findings[0]
    assert (finding.cause, finding.layer) == ("normalise-zero", "encoder/block_1/unit")
    assert (finding.epoch, finding.batch, callback.verdict) == (0, 4, "problem")
    assert callback.run is not None
    assert tensorsleuth.open(callback.run).tensors(epoch=0).health["batch"].max() == 4, "batch 5 did not run"
    heard = capfd.readouterr()
    assert "PROBLEM" in heard.err and "epoch 0, batch 4" in heard.err and "x / tf.norm" in heard.err
    assert not heard.out


def test_a_leak_does_not_stop_it(keras: Any, tmp_path: Path) -> None:
    kept: list[Any] = []

    class Keeper(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            kept.append(tf.ones([256, 128]) * tf.reduce_mean(x))
            away = tf.stop_gradient(tf.nn.relu(x))
            return x + tf.where(away > 0.0, tf.math.log(away), 0.0)  # a −∞ without effect makes it check

    model = keras.Sequential([Keeper(), keras.layers.Dense(1)])
    model.compile("adam", "mse", run_eagerly=True)
    callback = tensorsleuth.keras.SleuthCallback(tmp_path, stop_on_nan=True)
    asked = {"batch_size": 8, "epochs": 4, "verbose": 0, "callbacks": [callback]}
    history = model.fit(X - X.mean(), Y, **asked).history
    assert len(history["loss"]) == 4, "all epochs"
    assert [one.cause for one in callback.findings] == ["kept-tensors"]


def test_not_asked_to_stop_it_does_not(keras: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    callback = tensorsleuth.keras.SleuthCallback(tmp_path)
    watched = fit(keras, [callback], zero_row())
    assert bits(watched) == bits(fit(keras, [], zero_row()))
    assert (callback.verdict, callback.findings[0].batch) == ("problem", 4)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("epochs", [1, range(1, 2), {1}, lambda epoch: epoch == 1])
def test_chosen_epochs_and_batches(keras: Any, epochs: Any, tmp_path: Path) -> None:
    callback = tensorsleuth.keras.SleuthCallback(tmp_path, epochs=epochs, batches=range(2, 4))
    assert bits(fit(keras, [callback])) == bits(fit(keras, []))
    assert callback.run is not None
    trace = tensorsleuth.open(callback.run)
    seen = trace.tensors().health
    assert set(zip(seen["epoch"].tolist(), seen["batch"].tolist(), seen["step"].tolist())) == {(1, 2, 8), (1, 3, 9)}
    assert "encoder/block_1/unit" in {op.layer for op in trace.ops()}, "traced while it paused"
    gradients = [op for op in trace.ops(layer="head") if op.differentiates]
    assert gradients, "of functions that were traced while it paused, too"


def test_several_batches_a_call_are_recorded_where_one_is_chosen(keras: Any, tmp_path: Path) -> None:
    callback = tensorsleuth.keras.SleuthCallback(tmp_path, batches={4})
    model = kerases.sequential(keras)
    model.compile("sgd", "mse", steps_per_execution=3)
    model.fit(X, Y, batch_size=8, verbose=0, callbacks=[callback])
    assert callback.run is not None
    assert set(tensorsleuth.open(callback.run).tensors().health["batch"].tolist()) == {3}


def test_a_span_that_makes_no_sense(keras: Any) -> None:
    with pytest.raises(tensorsleuth.SleuthError, match=r"epochs is 'all'; it must be a number, a range.*e\.g\. range"):
        tensorsleuth.keras.SleuthCallback(epochs="all")  # type: ignore[arg-type]
    with pytest.raises(tensorsleuth.SleuthError, match="There is no mode 'MUCH'"):
        tensorsleuth.keras.SleuthCallback(mode="MUCH")


def test_a_recording_that_is_under_way_is_added_to(keras: Any, tmp_path: Path) -> None:
    callback = tensorsleuth.keras.SleuthCallback(tmp_path / "other", mode="FULL_NUMERICS", epochs={1}, stop_on_nan=True)
    with tensorsleuth.record(tmp_path / "runs") as recording:
        tf.math.log(tf.zeros([2])).numpy()  # harm, but not of this fit
        fit(keras, [callback], epochs=1)
        assert api.active_recording() is recording
        assert (callback.run, callback.verdict) == (recording.path, "healthy")
    assert not (tmp_path / "other").exists()


def test_an_exception_ends_the_recording(keras: Any, tmp_path: Path) -> None:
    class Stop(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if batch == 2:
                raise RuntimeError("enough")

    callback = tensorsleuth.keras.SleuthCallback(tmp_path)
    with pytest.raises(RuntimeError, match="enough") as raised:
        fit(keras, [callback, Stop()])
    del raised
    gc.collect()
    assert api.active_recording() is None
    assert callback.run is not None and callback.verdict == "healthy"
    kinds = tensorsleuth.open(callback.run).processes[0].calls["kind"]
    assert (kinds == CallKind.FUNCTION).sum() >= 3
    first, _ = callback.run, fit(keras, [callback], epochs=1)
    assert callback.run != first, "a fit after it is a run of its own"


def test_evaluate_and_predict(keras: Any, tmp_path: Path) -> None:
    model = kerases.sequential(keras)
    model.compile("sgd", "mse")
    callback = tensorsleuth.keras.SleuthCallback(tmp_path)
    model.evaluate(X, Y, batch_size=24, verbose=0, callbacks=[callback])
    assert api.active_recording() is None and callback.run is not None
    first = callback.run
    assert set(tensorsleuth.open(first).tensors().health["batch"].tolist()) >= {0, 1}
    model.predict(X, batch_size=24, verbose=0, callbacks=[callback])
    assert api.active_recording() is None and callback.run != first


def test_the_example_of_the_docs_runs(
    keras: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", (Path(__file__).parents[2] / "docs/keras.md").read_text(), re.S)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "keras_in_use", keras)
    Path("train.py").write_text(program)
    runpy.run_path(str(tmp_path / "train.py"), run_name="__main__")
    said = capfd.readouterr()
    assert "problem\n" in said.out and "sensor/unit 0 4" in said.out
    assert re.search(r"train\.py:11 .* a zero vector has no direction at step 4 \(epoch 0, batch 4\)", said.out)
    assert "PROBLEM" in said.err


def test_it_is_a_callback_of_the_keras_in_use(keras: Any) -> None:
    assert isinstance(tensorsleuth.keras.SleuthCallback(), keras.callbacks.Callback)
    assert isinstance(tensorsleuth.keras.SleuthCallback(), tensorsleuth.keras.SleuthCallback)
