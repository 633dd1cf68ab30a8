"""Lines of functions that were saved and loaded: as they were traced if the program saved them, else of the call."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import pytest
import tensorflow as tf
from tests.compat.looking import in_graph, marked

import tensorsleuth
from tensorsleuth.core.finding import Finding
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
SPEC = tf.TensorSpec([None, 3])


class Scorer(tf.Module):
    """A function that the program saves."""

    def __init__(self) -> None:
        super().__init__()
        self.kernel = tf.Variable(tf.ones([3, 2]))

    @tf.function(input_signature=[SPEC])
    def __call__(self, x: Any) -> Any:
        roots = tf.asin(x @ self.kernel)  # root
        return tf.math.log(tf.reduce_sum(roots, 1))  # log


class Nested(tf.Module):
    """Its saved function calls others, in a loop too."""

    def __init__(self) -> None:
        super().__init__()
        self.kernel = tf.Variable(tf.ones([3, 2]))

    @tf.function
    def score(self, x: Any) -> Any:
        return tf.math.log(x @ self.kernel)  # inner

    @tf.function(input_signature=[SPEC])
    def __call__(self, x: Any) -> Any:
        return self.score(x * 2.0) + 1.0

    @tf.function(input_signature=[SPEC])
    def repeated(self, x: Any) -> Any:
        total = 0.0
        for _ in tf.range(3):
            total += tf.reduce_sum(self.score(x))
        return total


class Log(keras.layers.Layer):
    def call(self, x: Any) -> Any:
        return tf.math.log(x)  # layer


def first(trace: Trace) -> Finding:
    return tensorsleuth.diagnose(trace).findings[0]


@pytest.mark.parametrize("by_signature", [False, True])
@pytest.mark.parametrize(("fed", "line"), [(0.0, "log"), (-1.0, "root")])
def test_a_function_that_the_program_saved_has_its_lines(
    recorded: Recorded, tmp_path: Path, fed: float, line: str, by_signature: bool
) -> None:
    def program() -> Any:
        tf.saved_model.save(Scorer(), str(tmp_path / "model"))
        loaded = tf.saved_model.load(str(tmp_path / "model"))
        x = tf.fill([2, 3], fed)
        result = loaded.signatures["serving_default"](x)["output_0"] if by_signature else loaded(x)
        return result.numpy()

    found = first(recorded(program))
    assert (found.file, found.line) == (__file__, marked(line)), found.summary


def test_an_exported_model_of_keras(recorded: Recorded, tmp_path: Path) -> None:
    def program() -> Any:
        dense = keras.layers.Dense(2, kernel_initializer="ones")
        model = keras.Sequential([keras.Input([3]), dense, Log()])
        tf.saved_model.save(model, str(tmp_path / "model"))
        loaded = tf.saved_model.load(str(tmp_path / "model"))
        return next(iter(loaded.signatures["serving_default"](tf.fill([2, 3], -1.0)).values())).numpy()

    found = first(recorded(program))
    assert (found.file, found.line) == (__file__, marked("layer")), found.summary


def test_one_that_was_saved_before_has_the_line_of_the_call(recorded: Recorded, tmp_path: Path) -> None:
    tf.saved_model.save(Scorer(), str(tmp_path / "model"))

    def program() -> Any:
        loaded = tf.saved_model.load(str(tmp_path / "model"))
        return loaded(tf.fill([2, 3], -1.0)).numpy()  # call

    found = first(recorded(program))
    assert (found.cause, found.file, found.line) == ("out-of-domain", __file__, marked("call")), found.summary
    assert "in Asin of the function that it calls, " in found.summary


def test_functions_of_one_name_are_not_taken_for_each_other(recorded: Recorded, tmp_path: Path) -> None:
    def save(name: str, function: Any) -> str:
        module = tf.Module()
        module.score = tf.function(function, input_signature=[SPEC])
        tf.saved_model.save(module, str(tmp_path / name))
        return str(tmp_path / name)

    def program() -> Any:
        def score(x: Any) -> Any:
            return tf.math.log(x)

        one = save("one", score)

        def score(x: Any) -> Any:  # type: ignore[no-redef]
            return tf.math.log(x)

        save("two", score)
        return tf.saved_model.load(one).score(tf.fill([2, 3], -1.0)).numpy()  # either

    found = first(recorded(program))
    assert (found.file, found.line) == (__file__, marked("either")), found.summary


def under_tape(loaded: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        score = loaded(x)
    tape.gradient(score, x)
    return score


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "call": lambda loaded, x: loaded(x),
    "loop": lambda loaded, x: loaded.repeated(x),
    "signature": lambda loaded, x: loaded.signatures["serving_default"](x)["output_0"],
    "in a function": lambda loaded, x: tf.function(lambda one: loaded(one) * 2.0)(x),
    "under a tape": lambda loaded, x: under_tape(loaded, x),
}


@pytest.mark.parametrize("way", CALLS)
def test_functions_that_a_loaded_one_calls_are_recorded(recorded: Recorded, tmp_path: Path, way: str) -> None:
    model = Nested()
    signatures = {"serving_default": model.__call__}
    tf.saved_model.save(model, str(tmp_path / "model"), signatures)

    def program() -> Any:
        loaded = tf.saved_model.load(str(tmp_path / "model"))
        return CALLS[way](loaded, tf.fill([2, 3], -1.0)).numpy()

    trace = recorded(program)
    assert in_graph(trace, "Log") and in_graph(trace, "MatMul")
    assert first(trace).cause == "log-negative" and first(trace).op == "Log"


def test_a_signature_runs_on_after_its_module_is_gone(recorded: Recorded, tmp_path: Path) -> None:
    """Its graph refers to variables that Python has let go."""
    model = Nested()
    tf.saved_model.save(model, str(tmp_path / "model"), {"serving_default": model.__call__})

    def program() -> Any:
        score = tf.saved_model.load(str(tmp_path / "model")).signatures["serving_default"]
        gc.collect()
        return score(tf.fill([2, 3], -1.0))["output_0"].numpy()  # signature

    trace = recorded(program)
    assert in_graph(trace, "Log") and first(trace).cause == "log-negative"
    assert first(trace).line == marked("signature")


WITH_LINES = tf.saved_model.SaveOptions(save_debug_info=True)


@pytest.mark.parametrize("way", ["call", "loop"])
def test_lines_that_were_saved_with_the_model(recorded: Recorded, tmp_path: Path, way: str) -> None:
    tf.saved_model.save(Nested(), str(tmp_path / "model"), options=WITH_LINES)

    def program() -> Any:
        loaded = tf.saved_model.load(str(tmp_path / "model"))
        return CALLS[way](loaded, tf.fill([2, 3], -1.0)).numpy()

    found = first(recorded(program))
    assert (found.file, found.line) == (__file__, marked("inner")), found.summary
    assert found.code is not None and "log(x @ self.kernel)" in found.code


def test_saved_lines_of_a_file_that_has_changed_are_not_told(recorded: Recorded, tmp_path: Path) -> None:
    tf.saved_model.save(Nested(), str(tmp_path / "model"), options=WITH_LINES)
    os.utime(tmp_path / "model" / "debug" / "saved_model_debug_info.pb", (1, 1))

    def program() -> Any:
        return tf.saved_model.load(str(tmp_path / "model"))(tf.fill([2, 3], -1.0)).numpy()  # changed since

    found = first(recorded(program))
    assert (found.file, found.line) == (__file__, marked("changed since")), found.summary


def test_a_loaded_model_that_computes_finite_numbers_is_healthy(recorded: Recorded, tmp_path: Path) -> None:
    tf.saved_model.save(Nested(), str(tmp_path / "model"), options=WITH_LINES)

    def program() -> None:
        loaded = tf.saved_model.load(str(tmp_path / "model"))
        for _ in range(3):
            loaded(tf.ones([2, 3])).numpy()

    diagnosis = tensorsleuth.diagnose(recorded(program))
    assert not diagnosis.findings and not diagnosis.unclear
