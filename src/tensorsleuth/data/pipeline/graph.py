"""Adds the check of each element to a pipeline: our native op, or without the library a call of Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tensorsleuth.core.threads.gc_pause import no_collection
from tensorsleuth.data.part_names import bind_columns, named_leaves
from tensorsleuth.data.pipeline.actions import ViolationHandler
from tensorsleuth.data.pipeline.element import violations
from tensorsleuth.data.pipeline.native import NativeChecker
from tensorsleuth.data.readers.datasets import columns_of, is_batched
from tensorsleuth.data.schema import Schema
from tensorsleuth.recording.harmless import complain
from tensorsleuth.recording.tensorflow.custom_ops import watch_failures
from tensorsleuth.recording.violations.pending_errors import alarm_in, numbered_message

PASS, FAIL, DROP = 0, 1, 2


class ElementChecker:
    """The parts of an element to check, and the action on one that may be bad."""

    def __init__(self, spec: Any, schema: Schema, violation_handler: ViolationHandler) -> None:
        self.schema, self.verdicts = schema, violation_handler
        leaves = list(named_leaves(spec))
        columns = columns_of(leaves)
        self.batched, bound = is_batched(columns, schema), bind_columns(schema, columns)
        self.names: list[str] = []  # of the checked tensors
        self.places: list[int] = []  # their positions among all tensors of an element
        self.loose: set[str] = set()  # names of ragged and sparse parts
        self._take(spec, bound)
        flat = tf.nest.flatten(spec, expand_composites=True)
        self.specs = [flat[place] for place in self.places]

    def _take(self, spec: Any, bound: dict[str, str]) -> None:
        """Select tensors as TensorFlow flattens the structure; of a ragged or sparse part, the values."""
        flat = tf.nest.flatten(spec)
        numbered = named_leaves(tf.nest.pack_sequence_as(spec, list(range(len(flat)))))
        names = {number: bound.get(name) for name, number, _ in numbered}
        place = 0
        for number, leaf in enumerate(flat):
            inner, name = tf.nest.flatten(leaf, expand_composites=True), names[number]
            if name is not None and isinstance(inner[0], tf.TensorSpec):
                sparse, plain = isinstance(leaf, tf.SparseTensorSpec), isinstance(leaf, tf.TensorSpec)
                self.names.append(name)
                self.places.append(place + (1 if sparse else 0))
                self.loose |= set() if plain else {name}
            place += len(inner)

    def judge(self, index: int, arrays: list[Any]) -> tuple[int, str]:
        """Return the action on an element, and the message. An error of ours lets the element pass."""
        try:
            with no_collection():
                return self._judge(index, arrays)
        except Warning as warning:  # the program turns warnings into errors
            return FAIL, numbered_message(warning, str(warning))
        except Exception as error:
            complain(
                f"an element of a pipeline was not checked ({type(error).__name__}: {error}); the program goes on."
            )
            return PASS, ""

    def _judge(self, index: int, arrays: list[Any]) -> tuple[int, str]:
        element = {name: _array(value) for name, value in zip(self.names, arrays)}
        found = violations(self.schema, index, element, self.batched, self.loose)
        if not found:
            return PASS, ""
        text = self.verdicts.note(index, element, found)
        return (FAIL, text) if text else (DROP if self.verdicts.drops else PASS, "")


def _array(value: Any) -> Any:
    """Return a value as an array. A scalar has rank 0; texts are objects, which keep their length."""
    return np.array(value, object) if isinstance(value, (bytes, str)) else np.asarray(value)


def attach_checks(dataset: Any, schema: Schema, violation_handler: ViolationHandler) -> Any:
    """Return the data set with checks as it runs; its structure, order and types stay."""
    element_checker = ElementChecker(dataset.element_spec, schema, violation_handler)
    watch_failures(alarm_in)
    texts = any(spec.dtype == tf.string for spec in element_checker.specs)
    native = None if texts else NativeChecker.make(element_checker)
    if violation_handler.drops:
        keeps = native.keeps if native is not None else _python_keeps(element_checker)
        kept = dataset.enumerate().filter(lambda index, element: keeps(index, _flat(element, element_checker)))
        return kept.map(lambda index, element: element)
    passes = native.passes if native is not None else _python_passes(element_checker)
    spec = dataset.element_spec
    looked = dataset.enumerate().map(
        lambda index, element: _replaced(element, element_checker, passes(index, _flat(element, element_checker)), spec)
    )
    endless = dataset.cardinality() == tf.data.INFINITE_CARDINALITY
    return looked.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)) if endless else looked


def _flat(element: Any, element_checker: ElementChecker) -> list[Any]:
    flat = tf.nest.flatten(element, expand_composites=True)
    return [flat[place] for place in element_checker.places]


def _replaced(element: Any, element_checker: ElementChecker, looked: list[Any], spec: Any) -> Any:
    """Return the element with its checked tensors in place of the original ones."""
    flat = tf.nest.flatten(element, expand_composites=True)
    for place, tensor, before in zip(element_checker.places, looked, element_checker.specs):
        tensor.set_shape(before.shape)
        flat[place] = tensor
    return tf.nest.pack_sequence_as(spec, flat, expand_composites=True)


def _python_passes(element_checker: ElementChecker) -> Callable[[Any, list[Any]], list[Any]]:
    def passes(index: Any, tensors: list[Any]) -> list[Any]:
        kept = _python_keeps(element_checker)(index, tensors)
        with tf.control_dependencies([kept]):
            return [tf.identity(tensor) for tensor in tensors]

    return passes


def _python_keeps(element_checker: ElementChecker) -> Callable[[Any, list[Any]], Any]:
    def look(index: Any, *arrays: Any) -> bool:
        answer, text = element_checker.judge(int(index), list(arrays))
        if answer == FAIL:
            raise ValueError(text)
        return answer != DROP

    def keeps(index: Any, tensors: list[Any]) -> Any:
        keep = tf.numpy_function(look, [index, *tensors], tf.bool)
        keep.set_shape([])
        return keep

    return keeps
