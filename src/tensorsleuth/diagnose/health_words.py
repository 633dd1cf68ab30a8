"""A tensor's health in words, and as evidence of a finding."""

from __future__ import annotations

from typing import Any

from tensorsleuth.core.catalog import Site
from tensorsleuth.core.finding import Evidence
from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor

_COUNT_COLUMNS = ("neg_inf", "pos_inf", "nan", "neg", "zero", "pos")
_BAD_VALUE_WORDS = (("nan", "NaN"), ("neg_inf", "−∞"), ("pos_inf", "+∞"))


def describe_health(row: Any, index: tuple[int, ...] | None = None) -> str:
    """Return a tensor's health in words: `1 −∞ of 1,000 (row 41, column 7)`, `1 zero of 1,000, range 0 … 0.9998`."""
    flags = int(row["flags"])
    if not flags & EventFlag.LOOKED:
        return "not recorded"
    if not flags & EventFlag.COUNTED:
        return "holds NaN or ∞" if flags & EventFlag.BAD else "finite"
    counts = [f"{int(row[name]):,} {word}" for name, word in _BAD_VALUE_WORDS if row[name]]
    if not flags & EventFlag.RANGED:
        return ", ".join(counts) or "finite"
    if not counts and row["zero"]:
        counts = [f"{int(row['zero']):,} {'zero' if row['zero'] == 1 else 'zeros'}"]
    elements = sum(int(row[name]) for name in _COUNT_COLUMNS)
    said = [f"{', '.join(counts)} of {elements:,}"] if counts else []
    if index and elements > 1:
        said[-1:] = [f"{said[-1]} (first at {describe_index(index)})"] if said else []
    if row["min"] <= row["max"]:
        said.append(f"{'finite ' if flags & EventFlag.BAD else ''}range {row['min']:.4g} … {row['max']:.4g}")
    return ", ".join(said) or "empty"


def describe_index(index: tuple[int, ...] | None) -> str:
    """A place in a tensor: rows and columns where it has two axes."""
    if index is None:
        return "somewhere in it"
    if not index:
        return "a single number"
    if len(index) == 1:
        return f"element {index[0]:,}"
    if len(index) == 2:
        return f"row {index[0]:,}, column {index[1]:,}"
    return f"row {index[0]:,}, then [{', '.join(map(str, index[1:]))}]"


def format_bytes(number: float) -> str:
    """Return decimal units, as 268 MB: all amounts of memory use them."""
    size, place = float(number), 0
    while size >= 999.5 and place < 5:
        size, place = size / 1000, place + 1
    return f"{size:.{1 if size < 9.95 and place else 0}f} {('B', 'kB', 'MB', 'GB', 'TB', 'PB')[place]}"


def format_limit(number: int) -> str:
    """Return a limit as 944 MB (900 MiB): with binary units if it is a round number of them."""
    for unit, name in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB")):
        if number and number % unit == 0:
            return f"{format_bytes(number)} ({number // unit:,} {name})"
    return format_bytes(number)


def pluralise(count: int, thing: str) -> str:
    """E.g. `1 tensor` or `1,200 tensors`."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def evidence_of(role: str, one: ObservedTensor, number: int | None = None) -> Evidence:
    """Return a recorded tensor as evidence; `number` is its place among the events."""
    constant = ", ".join(f"{value:g}" for value in one.constant or ())
    return Evidence(
        role,
        one.tensor.name,
        one.tensor.type,
        one.dtype if one.row is not None else "constant",
        one.shape,
        describe_health(one.row, one.first_bad) if one.row is not None else constant,
        _line(one.tensor.site),
        number,
    )


def _line(site: Site | None) -> str | None:
    return f"{site.frame.file}:{site.frame.line}" if site is not None and site.frame is not None else None
