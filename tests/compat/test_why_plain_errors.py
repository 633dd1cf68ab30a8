"""Verdicts on errors of Python and of shapes, which threads, memory and the last layer have nothing to do with."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf
from rich.console import Console
from tests.compat import kerases
from tests.compat.kerases import KERASES
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.core.finding import Diagnosis, Finding
from tensorsleuth.trace.reader import Trace
from tensorsleuth.ui.terminal.verdict import verdict

Recorded = Callable[..., Trace]
Dying = Callable[[Callable[[], Any]], Finding]


@pytest.fixture
def diagnosed(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], Diagnosis]:
    """Run a program that ends with an exception."""

    def run(program: Callable[[], Any]) -> Diagnosis:
        def end() -> None:
            with pytest.raises((ValueError, TypeError, AttributeError)) as raised:
                program()
            monkeypatch.setattr(sys, "last_value", raised.value, raising=False)

        trace = recorded(end)
        trace.meta["ended"] = {"exit": 1}
        return tensorsleuth.diagnose(trace)

    return run


def a_wrong_argument() -> None:
    tf.reshape(tf.ones([4]), form=[2, 2])


def a_wrong_attribute() -> None:
    tf.ones([4]).shapes  # noqa: B018


def shapes() -> None:
    tf.function(lambda x: x + tf.ones([3]))(tf.ones([4]))


@pytest.mark.parametrize("program", [a_wrong_argument, a_wrong_attribute, shapes])
def test_no_threads_memory_or_layers(
    diagnosed: Callable[[Callable[[], Any]], Diagnosis], program: Callable[[], None]
) -> None:
    import keras

    def run() -> None:
        model = keras.Sequential([keras.layers.Dense(2)])
        model.compile("sgd", "mse")
        model.fit(tf.ones([8, 3]), tf.ones([8, 2]), verbose=0)
        program()

    found = diagnosed(run)
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(verdict(found))
    text = console.export_text()
    assert "PROBLEM" in text and found.findings[0].layer is None, text
    assert not any(label in text for label in ("Threads", "Memory", "Largest", "Oldest")), text


@pytest.mark.parametrize("name", KERASES)
def test_a_layer_that_joins_what_does_not_fit(dying: Dying, name: str) -> None:
    keras: Any = kerases.load(name)

    class Scores(keras.layers.Layer):
        def call(self, users: Any, items: Any = None) -> Any:
            return tf.concat([tf.nn.relu(users), tf.nn.relu(items)], axis=-1)  # joined

    layer = Scores()
    step = tf.function(lambda users, items: layer(users, items=items))
    found = dying(lambda: step(tf.ones([4, 1, 8]), tf.ones([4, 101, 8])))
    assert (found.cause, found.line) == ("shape-mismatch", marked("joined")), found.summary
    assert "1 and 101 do not fit together" in found.summary and "Exception" not in found.summary
    assert found.confidence >= 0.9 and len(found.summary) < 400
