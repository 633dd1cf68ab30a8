"""The number of outputs of an op, before it has run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from tensorsleuth.recording.tensorflow import internals as tf

FAST_PATH_OP = 1  # the index of the op's name in TFE_Py_FastPathExecute(context, op, name, *inputs, *attributes)
FIRST_INPUT = 3


def count_outputs(op: str, args: Sequence[Any]) -> int | None:
    """Return the number of an op's outputs from the arguments of an eager entry point; None if they do not show it."""
    if _text(args[FAST_PATH_OP]) != op:  # TFE_Py_Execute(handle, device, op, inputs, attributes, …, number of outputs)
        return args[-1] if isinstance(args[-1], int) else None
    described = _output_counts(op)
    if described is None:
        return None
    inputs, fixed, counted = described
    given = args[FIRST_INPUT + inputs :]
    attributes = dict(zip(map(_text, given[::2]), given[1::2], strict=False))
    numbers = [_number(attributes, name) for name in counted]
    return fixed + sum(numbers) if all(number is not None for number in numbers) else None  # type: ignore[arg-type]


@cache
def _output_counts(op: str) -> tuple[int, int, tuple[str, ...]] | None:
    """Return the number of an op's inputs, of its fixed outputs, and the attributes that count its other outputs."""
    definition = tf.op_definition(op)
    if definition is None:
        return None
    counted = tuple(arg.number_attr or arg.type_list_attr for arg in definition.output_arg)
    return len(definition.input_arg), counted.count(""), tuple(name for name in counted if name)


def _number(attributes: Mapping[Any, Any], name: str) -> int | None:
    value = attributes.get(name)
    if isinstance(value, list | tuple):
        return len(value)
    return value if isinstance(value, int) else None


def _text(name: Any) -> Any:
    return name.decode() if isinstance(name, bytes) else name
