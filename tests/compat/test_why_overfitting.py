"""A validation loss that rises while the training loss falls: told at `fit`, unless the best weights are kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.core.finding import Finding
from tensorsleuth.trace.reader import Trace

keras = tf.keras
Recorded = Callable[..., Trace]
RNG = np.random.default_rng(3)
X = RNG.normal(size=(16 + 64, 30)).astype("float32")
Y = (X[:, :1] + 3.0 * RNG.normal(size=(len(X), 1))).astype("float32")
DATA: dict[str, Any] = {"epochs": 12, "batch_size": 4, "verbose": 0, "shuffle": False}


def told(trace: Trace) -> list[Finding]:
    found = tensorsleuth.diagnose(trace)
    return [one for one in (*found.findings, *found.notes) if one.cause == "overfitting"]


def linear(*before: Any) -> Any:
    model = keras.Sequential([keras.layers.Input((30,)), *before, keras.layers.Dense(1, kernel_initializer="zeros")])
    model.compile(keras.optimizers.SGD(0.02), keras.losses.MeanSquaredError())
    return model


def fitted(model: Any, callbacks: list[Any]) -> None:
    model.fit(X[:16], Y[:16], validation_data=(X[16:], Y[16:]), callbacks=callbacks, **DATA)


def test_it_is_told_at_fit_with_numbers_of_the_same_epochs(recorded: Recorded, tmp_path: Path) -> None:
    """A model that is loaded later brings a loss along, which is not the one that was trained."""
    model, kept = linear(), str(tmp_path / "last.keras")
    seen: dict[str, Any] = {}

    def program() -> None:
        each = [keras.callbacks.ModelCheckpoint(kept)]
        history = model.fit(X[:16], Y[:16], validation_data=(X[16:], Y[16:]), callbacks=each, **DATA)  # fit
        keras.models.load_model(kept)
        seen.update(history.history)

    (found,) = told(recorded(program))
    assert found.line == marked("fit")
    best = int(np.argmin(seen["val_loss"]))
    for number in (seen["val_loss"][best], seen["val_loss"][-1], seen["loss"][best], seen["loss"][-1]):
        assert f"{number:.3g}"[:-1] in found.summary
    assert f"from epoch {best} to epoch 11, the last" in found.summary


def checkpoint(model: Any, folder: Path) -> None:
    saving = keras.callbacks.ModelCheckpoint(str(folder / "best.keras"), save_best_only=True)
    model.fit(X[:16], Y[:16], validation_data=(X[16:], Y[16:]), callbacks=[saving], **DATA)


def named_callbacks(model: Any, folder: Path) -> None:
    chosen = [keras.callbacks.TerminateOnNaN()]
    chosen.append(keras.callbacks.ModelCheckpoint(str(folder / "best.keras"), save_best_only=True))
    model.fit(X[:16], Y[:16], validation_data=(X[16:], Y[16:]), callbacks=chosen, **DATA)


def patient(model: Any, folder: Path) -> None:
    """It would have restored the best weights, but training ended before."""
    stop = keras.callbacks.EarlyStopping(patience=50, restore_best_weights=True)
    model.fit(X[:16], Y[:16], validation_data=(X[16:], Y[16:]), callbacks=[stop], **DATA)


def restoring(model: Any, folder: Path) -> None:
    stop = keras.callbacks.EarlyStopping(patience=6, restore_best_weights=True)
    model.fit(X[:16], Y[:16], validation_data=(X[16:], Y[16:]), callbacks=[stop], **DATA)


@pytest.mark.parametrize("train", [checkpoint, named_callbacks, patient, restoring], ids=lambda train: train.__name__)
def test_a_program_that_keeps_its_best_weights(recorded: Recorded, tmp_path: Path, train: Callable[..., None]) -> None:
    model = linear()
    assert told(recorded(lambda: train(model, tmp_path))) == []


def test_callbacks_that_keep_the_last_weights(recorded: Recorded, tmp_path: Path) -> None:
    model, last = linear(), str(tmp_path / "last.keras")

    def program() -> None:
        latest = keras.callbacks.ModelCheckpoint(last, save_best_only=False)
        model.fit(X[:16], Y[:16], validation_data=(X[16:], Y[16:]), callbacks=[latest], **DATA)  # last weights

    assert [one.line for one in told(recorded(program))] == [marked("last weights")]


def test_moving_averages_that_lag_are_the_other_reason(recorded: Recorded) -> None:
    model = linear(keras.layers.BatchNormalization())
    (found,) = told(recorded(lambda: fitted(model, [])))
    assert found.severity == "note" and "moving averages" in found.summary and "momentum" in (found.fix or "")


def test_without_moving_averages_it_is_memory(recorded: Recorded) -> None:
    model = linear()
    (found,) = told(recorded(lambda: fitted(model, [])))
    assert "by heart" in found.summary and "moving averages" not in found.summary


def test_a_loop_that_saves_what_is_better(recorded: Recorded, tmp_path: Path) -> None:
    model, measures = linear(), []

    def program() -> None:
        best = float("inf")
        for _ in range(12):
            for at in range(0, 16, 4):
                model.train_on_batch(X[at : at + 4], Y[at : at + 4])
            measured = float(model.test_on_batch(X[16:], Y[16:]))
            measures.append(measured)
            if measured < best:
                best = measured
                model.save_weights(str(tmp_path / "best.weights.h5"))

    assert told(recorded(program)) == []
    assert measures[-1] > 1.3 * min(measures)
