"""Turns the user's arguments into an expectation, and explains wrong ones at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from numbers import Number
from typing import Any

import numpy as np

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.violation import OnViolation, format_value
from tensorsleuth.live.expect.expectation import (
    MAX_DIMS,
    MAX_RANKS,
    ON_VIOLATION,
    RULES,
    Dim,
    Expectation,
    Increasing,
    dtype_name,
)


def make_expectation(**given: Any) -> Expectation:
    """Check the arguments of `expect`. Raise SleuthError if one is wrong."""
    made = Expectation(
        dtype=_dtypes(given["dtype"]),
        rank=_ranks(given["rank"]),
        shape=_shape(given["shape"]),
        finite=_flag("finite", given["finite"]),
        between=_range(given["between"]),
        one_of=_choices(given["one_of"]),
        sums_to=_number("sums_to", given["sums_to"]),
        increasing=_increasing(given["increasing"]),
        max_elements=_whole("max_elements", given["max_elements"]),
        that=_function(given["that"]),
        axis=_axis_number(given["axis"]),
        tolerance=_tolerance(given["tolerance"]),
        name=_name(given["name"]),
        on_violation=_on_violation(given["on_violation"]),
    )
    if not made.rules:
        raise SleuthError(f"expect() needs a rule. Pass at least one of: {', '.join(RULES)}.")
    return made


def _wrong(argument: str, value: Any, wanted: str) -> SleuthError:
    return SleuthError(f"expect({argument}={value!r}): {wanted}{'' if wanted.endswith('?') else '.'}")


def _dtypes(given: Any) -> tuple[str, ...]:
    try:
        return tuple(
            dtype_name(one)
            for one in (given if isinstance(given, tuple | list) else [given] if given is not None else [])
        )
    except TypeError:
        raise _wrong("dtype", given, "a dtype, its name, or several of them, such as dtype='float32'") from None


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _ranks(given: Any) -> tuple[int, ...]:
    ranks = tuple(given) if isinstance(given, tuple | list) else (given,) if given is not None else ()
    if not all(_is_whole(rank) and rank >= 0 for rank in ranks) or len(ranks) > MAX_RANKS:
        raise _wrong(
            "rank", given, f"an integer of 0 or more, or up to {MAX_RANKS} of them, such as rank=2 or rank=(3, 4)"
        )
    return tuple(int(rank) for rank in ranks)


def _shape(given: Any) -> tuple[Dim, ...] | None:
    if given is None:
        return None
    if hasattr(given, "as_list"):  # a TensorShape
        given = given.as_list()
    if not isinstance(given, tuple | list) or len(given) > MAX_DIMS or sum(dim is ... for dim in given) > 1:
        raise _wrong(
            "shape", given, f"a tuple of up to {MAX_DIMS} sizes, such as shape=('batch', 128), with at most one ..."
        )
    return tuple(_dim(given, dim) for dim in given)


def _dim(shape: Any, dim: Any) -> Dim:
    if dim is None or dim is ... or (isinstance(dim, str) and dim):
        return dim
    if _is_whole(dim) and dim >= 0:
        return int(dim)
    raise _wrong(
        "shape", shape, f"{dim!r} is not a size: an integer, a name, None for any size, or ... for any dimensions"
    )


def _flag(argument: str, given: Any) -> bool:
    if given not in (True, False, None):
        raise _wrong(argument, given, "True, or leave it out")
    return bool(given)


def _is_real(value: Any) -> bool:
    return isinstance(value, Number | np.number) and not isinstance(value, complex) and not math.isnan(float(value))  # type: ignore[arg-type]


def _range(given: Any) -> tuple[float, float] | None:
    if given is None:
        return None
    if not isinstance(given, tuple | list) or len(given) != 2 or not all(end is None or _is_real(end) for end in given):
        raise _wrong("between", given, "two numbers, (low, high); None for no bound")
    low, high = (
        (-math.inf if given[0] is None else float(given[0])),
        (math.inf if given[1] is None else float(given[1])),
    )
    if low > high:
        raise _wrong(
            "between", given, f"no value is between them; did you mean ({format_value(high)}, {format_value(low)})?"
        )
    return low, high


def _choices(given: Any) -> tuple[Any, ...] | None:
    if given is None:
        return None
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise _wrong("one_of", given, "a collection of numbers or strings, such as one_of=(0, 1) or one_of=range(10)")
    choices = [_choice(given, one) for one in given]
    if not choices or len({isinstance(one, bytes) for one in choices}) > 1:
        raise _wrong("one_of", given, "at least one number, or at least one string; not both kinds")
    return tuple(sorted(set(choices)))


def _choice(all_given: Any, given: Any) -> Any:
    if isinstance(given, str | bytes):
        return given.encode() if isinstance(given, str) else given
    if not _is_real(given):
        raise _wrong("one_of", all_given, f"{given!r} is neither a number nor a string")
    return given.item() if hasattr(given, "item") else given


def _number(argument: str, given: Any) -> float | None:
    if given is None:
        return None
    if not _is_real(given) or not math.isfinite(float(given)):
        raise _wrong(argument, given, "a number")
    return float(given)


def _increasing(given: Any) -> Increasing:
    if given == "or equal":
        return "or equal"
    if given not in (True, False, None):
        raise _wrong("increasing", given, "True, or 'or equal' to allow equal neighbours")
    return bool(given)


def _whole(argument: str, given: Any) -> int | None:
    if given is None:
        return None
    if not _is_whole(given) or given < 0:
        raise _wrong(argument, given, "an integer of 0 or more")
    return int(given)


def _function(given: Any) -> Callable[[Any], Any] | None:
    if given is not None and not callable(given):
        raise _wrong(
            "that", given, "a function of the value that returns True or False, for all of it or for each element"
        )
    return given  # type: ignore[no-any-return]


def _axis_number(given: Any) -> int:
    if not _is_whole(given):
        raise _wrong("axis", given, "an integer: the axis of sums_to or increasing")
    return int(given)


def _tolerance(given: Any) -> float | None:
    number = _number("tolerance", given)
    if number is not None and number < 0:
        raise _wrong("tolerance", given, "a number of 0 or more")
    return number


def _name(given: Any) -> str | None:
    if given is not None and not isinstance(given, str):
        raise _wrong("name", given, "a string")
    return given


def _on_violation(given: Any) -> OnViolation:
    if given not in ON_VIOLATION:
        raise _wrong("on_violation", given, "'raise', 'warn' or 'record'")
    return given  # type: ignore[no-any-return]
