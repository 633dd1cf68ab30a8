"""What the checks say where TensorFlow and Keras are in it, word for word."""
# ruff: noqa: E501 - sentences stay whole, as they are looked for

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tensorsleuth
from tensorsleuth import Feature, Schema, SleuthError, expect, log, watch
from tensorsleuth.data.pipeline import graph
from tensorsleuth.data.readers.file_errors import import_needed
from tensorsleuth.live.watch import log as logging
from tensorsleuth.live.watch.watches import Watches


def in_function(look: Callable[[Any], Any], x: Any, **how: Any) -> Any:
    return tf.function(look, **how)(x)


def keras_input() -> Any:
    return tf.keras.Input([4])


def keras_config() -> Any:
    x = keras_input()
    return tf.keras.Model(x, expect(x, that=lambda value: True, name="x")).get_config()


CALLS: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: expect(tf.sparse.from_dense([[1.0, 2.0]]), sums_to=1),
        "expect(sums_to=… or increasing=…): this rule cannot check a sparse tensor. Use tf.sparse.to_dense(x).",
    ),
    (
        lambda: in_function(lambda x: expect(x, sums_to=1).flat_values, tf.ragged.constant([[1.0], [2.0, 3.0]])),
        "expect(sums_to=… or increasing=…): this rule cannot check the rows of a ragged tensor in a graph. Check tf.reduce_sum(x, axis=-1) or x.to_tensor() instead.",
    ),
    (
        lambda: in_function(
            lambda x: expect(x, increasing=True),
            tf.zeros([3]),
            jit_compile=True,
            input_signature=[tf.TensorSpec(None)],
        ),
        "expect(increasing=…): XLA needs a known rank. Use tf.ensure_shape.",
    ),
    (
        lambda: expect(tf.data.Dataset.range(3), finite=True),
        "expect(): a tensorflow.python.data.ops.range_op._RangeDataset cannot be checked. Pass a tensor, a variable, a ragged or sparse tensor, or a list, tuple or dict of these.",
    ),
    (
        lambda: log("{x}", x=keras_input()),
        "log: x is a symbolic tensor of Keras, which has no value until the model is called. Log in the call() of a layer.",
    ),
    (
        lambda: import_needed("tensorflow.nosuchpart", "reading it"),
        "reading it needs tensorflow, which cannot be imported here (No module named 'tensorflow.nosuchpart'). Install it, or run this where the program runs.",
    ),
    (
        lambda: tf.data.Dataset.range(3).apply(tensorsleuth.checked(Schema({"x": Feature(), "y": Feature()}))),
        "the data set has no y, which the schema expects: it has x. Use the same names.",
    ),
]


@pytest.mark.parametrize(("call", "message"), CALLS, ids=[message[:40] for _, message in CALLS])
def test_a_wrong_call_is_told(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(SleuthError) as caught:
        call()
    assert str(caught.value) == message


def test_a_function_that_takes_no_symbolic_tensor() -> None:
    with pytest.raises(SleuthError) as caught:
        in_function(lambda x: expect(x, that=lambda v: bool(np.all(v > 0))), tf.zeros([3]), jit_compile=True)
    what = "expect(that=…): XLA compiles this code, so the function gets a symbolic tensor, and it failed ("
    step = "). Write it with TensorFlow's ops, or call expect outside of the compiled function."
    assert str(caught.value).startswith(what) and str(caught.value).endswith(step)


def test_a_model_with_a_function_in_it_is_not_saved() -> None:
    with pytest.raises(SleuthError) as caught:
        keras_config()
    said = "a model with a function in it cannot be saved. Use other rules (between, one_of…), or call expect outside of the model."
    assert str(caught.value).startswith("expect(that=…) at test_messages_in_graphs.py:") and str(caught.value).endswith(
        said
    )


def test_a_stand_in_is_not_watched(tmp_path: Any) -> None:
    with tensorsleuth.record(tmp_path), pytest.raises(SleuthError) as caught:
        watch(keras_input(), name="k")
    assert str(caught.value) == (
        "watch(name='k'): this is a symbolic tensor of Keras, which has no value until the model is called. "
        "Watch it in the call() of a layer, or by the layer's name: watch('layer:…')."
    )


def test_mistakes_of_ours_are_said_and_the_program_goes_on(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any) -> Any:
        raise KeyError("x")

    monkeypatch.setattr(graph, "violations", fail)
    data = tf.data.Dataset.from_tensor_slices([0.5, 2.0])
    assert sum(1 for _ in data.apply(tensorsleuth.checked(Schema({"x": Feature(between=(0, 1))})))) == 2
    monkeypatch.setattr(logging, "_read", fail)
    assert in_function(lambda x: log("{x}", x=x), tf.zeros([])) is None
    said = capfd.readouterr().err
    assert "tensorsleuth: an element of a pipeline was not checked (KeyError: 'x'); the program goes on." in said
    assert "tensorsleuth: log did not work (KeyError: 'x'); the program goes on." in said


def test_what_cannot_be_watched_is_said(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    watches = Watches()
    assert not watches._can_watch(SimpleNamespace(sink=SimpleNamespace(native=None), folder=None))  # type: ignore[arg-type]
    monkeypatch.setattr(watches._book, "find", lambda *_: (None, False))
    assert watches.series("tensor", "x", []) is None
    said = capfd.readouterr().err
    assert "watch needs the native library, which is missing: nothing is watched. See sleuth doctor." in said
    assert "more than 4,095 tensors match watch: the rest is not watched. Watch fewer names." in said


def test_texts_in_compiled_code_are_said_not_to_be_watched(tmp_path: Any, capfd: pytest.CaptureFixture[str]) -> None:
    @tf.function(jit_compile=True)
    def compiled(x: Any) -> Any:
        watch(tf.constant(["a"]), name="words")
        return x + 1

    with tensorsleuth.record(tmp_path):
        compiled(tf.zeros([2]))
    assert "tensorsleuth: watch(name='words'): XLA has no strings; it is not watched there." in capfd.readouterr().err
