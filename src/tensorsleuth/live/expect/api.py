"""The functions that users call to state expectations on a tensor."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.violation import OnViolation
from tensorsleuth.live.expect import arrays
from tensorsleuth.live.expect.argument_name import written_name
from tensorsleuth.live.expect.arguments import make_expectation
from tensorsleuth.live.expect.expectation import Expectation, Increasing
from tensorsleuth.live.expect.nested import is_structure, map_leaves
from tensorsleuth.recording.calling_line import ProgramLine, calling_line
from tensorsleuth.recording.violations.actions import handle_or_raise

T = TypeVar("T")
_cached_expectation = lru_cache(maxsize=4096, typed=True)(make_expectation)


def expect(
    x: T,
    *,
    dtype: Any = None,
    rank: int | tuple[int, ...] | None = None,
    shape: Any = None,
    finite: bool = False,
    between: tuple[float | None, float | None] | None = None,
    one_of: Any = None,
    sums_to: float | None = None,
    increasing: Increasing = False,
    max_elements: int | None = None,
    that: Callable[[Any], Any] | None = None,
    axis: int = -1,
    tolerance: float | None = None,
    name: str | None = None,
    on_violation: OnViolation = "raise",
) -> T:
    """Check `x` against expectations and return it. In a graph, check it each time the graph runs.

    Args:
        x: an array, a number, any kind of tensor (also in functions and in Keras models), or a structure of these.
        dtype: a dtype or its name, or several.
        rank: the number of dimensions, or several allowed numbers.
        shape: for each dimension an integer, None for any size, or a name. Dimensions with the same name must
            have the same size. `...` stands for any number of dimensions.
        finite: no value is NaN or infinite.
        between: (low, high), both included. None means no bound on that side.
        one_of: the allowed values.
        sums_to: the sum of the values along `axis`, within `tolerance`.
        increasing: along `axis` each value exceeds the previous one. "or equal" also allows equal neighbours.
        max_elements: the largest allowed number of elements.
        that: a function of the value that returns a boolean, one for the whole value or one for each element.
        name: the name of the value in messages.
        on_violation: "raise" an ExpectationError, "warn" once for each place, or only "record" it in the trace.
    """
    asked = {
        "dtype": dtype, "rank": rank, "shape": shape, "finite": finite, "between": between, "one_of": one_of,
        "sums_to": sums_to, "increasing": increasing, "max_elements": max_elements, "that": that, "axis": axis,
        "tolerance": tolerance, "name": name, "on_violation": on_violation,
    }  # fmt: skip
    try:
        expected = _cached_expectation(**asked)
    except TypeError:  # unhashable arguments, such as lists, cannot be cached
        expected = make_expectation(**asked)
    return judge_structure(x, expected, calling_line())


expect.autograph_info__ = {}  # type: ignore[attr-defined]  # AutoGraph must not convert it


def judge_structure(x: T, expected: Expectation, program_line: ProgramLine) -> T:
    """Judge all leaves of `x`. Return `x`, or its replacement in a graph."""
    written = written_name(program_line) if expected.name is None else expected.name
    name = written if written is not None else "the value"
    if not is_structure(x):
        return _judge_leaf(x, name, expected, program_line)  # type: ignore[no-any-return]
    return map_leaves(x, lambda leaf, path: _judge_leaf(leaf, name + path, expected, program_line))  # type: ignore[no-any-return]


def _judge_leaf(leaf: Any, name: str, expected: Expectation, program_line: ProgramLine) -> Any:
    if _is_tensorflows(leaf):
        from tensorsleuth.live.expect.tensors import judge_tensor

        return judge_tensor(leaf, name, expected, program_line)
    array = arrays.as_array(leaf)
    if array is None:
        raise SleuthError(
            f"expect(): a {type(leaf).__module__}.{type(leaf).__qualname__} cannot be checked. "
            "Pass an array, a number, a tensor, or a list, tuple or dict of these."
        )
    handle_or_raise(arrays.judge_array(expected, array, name, program_line), expected.on_violation)
    return leaf


_FRAMEWORKS = ("tensorflow", "keras", "tf_keras")


def _is_tensorflows(leaf: Any) -> bool:
    """Return whether the class belongs to TensorFlow or Keras, by the name of its module."""
    if "tensorflow" not in sys.modules:
        return False
    return any(kind.__module__.split(".")[0] in _FRAMEWORKS for kind in type(leaf).__mro__)
