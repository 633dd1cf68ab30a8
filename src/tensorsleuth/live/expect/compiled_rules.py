"""The rules as plain ops, which XLA can compile. Each rule yields a row of integers, all zero if it holds.

judge.py has the same rules in NumPy. The search for positions is in a tf.cond, so it runs only if a rule is broken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.live.expect.expectation import RULES, Expectation
from tensorsleuth.live.expect.judge import round_to_dtype
from tensorsleuth.live.expect.native_judge import numpy_dtype
from tensorsleuth.recording.tensorflow.internals import tf

MAX_POSITIONS, MAX_DIMS = 3, 8
SHAPE_ONLY = len(RULES) + 1  # in place of a rule: no value is wrong, but the shape may be
_SIZES = {
    "rule": 1,
    "broken": 1,
    "total": 1,
    "nan": 1,
    "inf": 1,
    "low": 1,
    "high": 1,
    "positions": MAX_POSITIONS,
    "values": MAX_POSITIONS,
}
_SIZES["shape"] = MAX_DIMS + 1  # the rank, then the sizes
_FLOATS = ("low", "high", "values")
ROW_SIZE = sum(_SIZES.values())


def unpack_row(noted: Any) -> dict[str, Any]:
    """Return the fields of a row by name. A field with one number is a scalar."""
    found, at = dict[str, Any](), 0
    for name, size in _SIZES.items():
        part = np.asarray(noted[at : at + size])
        part = part.view(np.float64) if name in _FLOATS else part
        found[name], at = (part[0] if size == 1 else part), at + size
    return found


def earlier_row(before: Any, after: Any) -> Any:
    """Return the earlier row if it has a violation, else the new one."""
    return tf.where(before[0] > 0, before, after)


def violation_row(tensor: Any, expected: Expectation, form: bool) -> Any | None:
    """Return the row of the first broken rule of a tensor, or None if no rule is left to judge.

    form: always store the shape. It is known only when the graph runs, and Python judges it then.
    """
    rows = [_RULES[rule](tensor, expected) for rule in expected.value_rules]
    rows = [row for row in rows if row is not None]
    rows += [_shape_row(tensor)] if form else []
    if not rows:
        return None
    row = rows[-1]
    for one in reversed(rows[:-1]):
        row = earlier_row(one, row)
    return row


def _shape_row(tensor: Any) -> Any:
    return _whole(
        tf.concat(
            [tf.constant([SHAPE_ONLY], tf.int64), tf.zeros([ROW_SIZE - MAX_DIMS - 2], tf.int64), _shape_of(tensor)], 0
        )
    )


def _whole(row: Any) -> Any:
    row.set_shape([ROW_SIZE])
    return row


def _row(rule: str, shape: Any, bad: Any, values: Any, ranged: bool = False, total: Any = None) -> Any:
    """Return the row for the bad elements of one rule."""
    bad, values = tf.reshape(bad, [-1]), tf.cast(tf.reshape(values, [-1]), tf.float64)
    broken = tf.reduce_sum(tf.cast(bad, tf.int64))

    def told() -> Any:
        positions, found = _first(bad, values)
        of = total if total is not None else tf.size(bad, tf.int64)
        finite = tf.math.is_finite(values)
        nan, inf = (tf.reduce_sum(tf.cast(one, tf.int64)) for one in (tf.math.is_nan(values), tf.math.is_inf(values)))
        low = tf.reduce_min(tf.where(finite, values, math.inf)) if ranged else tf.constant(math.nan, tf.float64)
        high = tf.reduce_max(tf.where(finite, values, -math.inf)) if ranged else tf.constant(math.nan, tf.float64)
        any_finite = tf.reduce_any(finite)
        ends = [tf.where(any_finite, end, tf.constant(math.nan, tf.float64)) for end in (low, high)]
        floats = [tf.bitcast(one, tf.int64) for one in (*ends, found)]
        numbers = [tf.constant(RULES.index(rule) + 1, tf.int64), broken, of, nan, inf]
        return _whole(tf.concat([tf.stack([*numbers, *floats[:2]]), positions, floats[2], shape], 0))

    return tf.cond(broken > 0, told, lambda: tf.zeros([ROW_SIZE], tf.int64))


def _first(bad: Any, values: Any) -> tuple[Any, Any]:
    """Return positions and values of the first few bad elements. Any entries beyond their number mean nothing."""
    positions, left = [], bad
    numbers = tf.range(tf.size(bad, tf.int64), dtype=tf.int64)
    for _ in range(MAX_POSITIONS):
        at = tf.argmax(tf.cast(left, tf.int32), output_type=tf.int64)
        positions.append(at)
        left = left & (numbers != at)
    found = tf.stack(positions)
    return found, tf.gather(values, found)


def _shape_of(tensor: Any) -> Any:
    rank = tensor.shape.rank
    if rank is not None and rank > MAX_DIMS:
        return tf.constant([-1] + [0] * MAX_DIMS, tf.int64)
    sizes = tf.cast(tf.shape(tensor), tf.int64)
    known = tf.constant(rank, tf.int64) if rank is not None else tf.cast(tf.rank(tensor), tf.int64)
    none = tf.zeros([MAX_DIMS - (rank if rank is not None else tf.rank(tensor))], tf.int64)
    return tf.concat([[known], sizes, none], 0)


def _doubles(tensor: Any) -> Any:
    return tf.cast(tensor, tf.float64)


def _finite(tensor: Any, expected: Expectation) -> Any | None:
    if tensor.dtype.is_complex:
        values = tf.math.real(tensor) + tf.math.imag(tensor)  # the sum is not finite if either part is not
        return _row("finite", _shape_of(tensor), ~tf.math.is_finite(values), values)
    if not tensor.dtype.is_floating:
        return None
    return _row("finite", _shape_of(tensor), ~tf.math.is_finite(tensor), tensor)


def _between(tensor: Any, expected: Expectation) -> Any:
    assert expected.between is not None
    kind = numpy_dtype(tensor.dtype.name)
    low, high = (round_to_dtype(end, kind) for end in expected.between)
    values = _doubles(tensor)
    return _row("between", _shape_of(tensor), ~((values >= low) & (values <= high)), values, ranged=True)


def _one_of(tensor: Any, expected: Expectation) -> Any:
    kind, values = numpy_dtype(tensor.dtype.name), _doubles(tensor)
    choices = [round_to_dtype(float(one), kind) for one in expected.one_of or ()]
    known = tf.zeros(tf.shape(values), tf.bool)
    for choice in choices:
        known |= values == choice
    return _row("one_of", _shape_of(tensor), ~known, values)


def _line(tensor: Any) -> Any:
    return tf.reshape(tensor, [1]) if tensor.shape.rank == 0 else tensor


def _increasing(tensor: Any, expected: Expectation) -> Any:
    values = _line(_doubles(tensor))
    if values.shape.rank is None:
        raise SleuthError("expect(increasing=…): XLA needs a known rank. Use tf.ensure_shape.")
    axis = expected.axis % values.shape.rank
    front = [axis, *(at for at in range(values.shape.rank) if at != axis)]
    moved = tf.transpose(values, front)
    rises = moved[1:] > moved[:-1] if expected.increasing is True else moved[1:] >= moved[:-1]
    bad = tf.concat([tf.zeros_like(moved[:1], tf.bool), ~rises], 0)
    bad = tf.transpose(bad, list(np.argsort(front)))
    return _row("increasing", _shape_of(tensor), bad, values, total=tf.size(rises, tf.int64))


def _sums(tensor: Any, expected: Expectation) -> Any:
    assert expected.sums_to is not None
    sums = tf.reduce_sum(_line(_doubles(tensor)), axis=expected.axis)
    good = tf.abs(sums - expected.sums_to) <= expected.tolerance_for(tensor.dtype.name)
    return _row("sums_to", _shape_of(tensor), ~good, sums, ranged=True)


def _that(tensor: Any, expected: Expectation) -> Any:
    """Call the user's function in compiled code. It must be a function that TensorFlow can trace."""
    assert expected.that is not None
    try:
        said = tf.cast(tf.convert_to_tensor(expected.that(tensor)), tf.bool)
    except Exception as error:
        raise SleuthError(
            f"expect(that=…): XLA compiles this code, so the function gets a symbolic tensor, and it failed ({error}). "
            "Write it with TensorFlow's ops, or call expect outside of the compiled function."
        ) from error
    same = said.shape.rank not in (None, 0) and said.shape.rank == tensor.shape.rank
    return _row("that", _shape_of(tensor), ~said, tensor if same else tf.zeros(tf.shape(said)))


_RULES: dict[str, Callable[[Any, Expectation], Any | None]] = {
    "finite": _finite,
    "between": _between,
    "one_of": _one_of,
    "increasing": _increasing,
    "sums_to": _sums,
    "that": _that,
}
