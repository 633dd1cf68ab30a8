"""Lines of functions that were saved and loaded: as they were traced if the program saved them, else of the call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import pytest
import tensorflow as tf
from tests.compat.looking import marked

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
