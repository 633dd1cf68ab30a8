"""Filters of a query, for ops (type, name, layer, line) and for training steps."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import SupportsIndex

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.trace.query.ops import Op

NamePattern = str | re.Pattern[str]
StepSelector = SupportsIndex | range | slice
OpTest = Callable[[Op], bool]
_OUTPUT_NAME = re.compile(r"(.*):(\d+)")
_MAX_LISTED_FILES = 5  # how many files an error message names


@dataclass(frozen=True)
class OpFilter:
    """Tests that an op must pass, and the number of the selected output."""

    tests: tuple[OpTest, ...]
    output: int | None = None

    def __call__(self, op: Op) -> bool:
        return all(test(op) for test in self.tests)


@dataclass(frozen=True)
class TimeFilter:
    """The selected training steps, and the epochs and batches of a Keras model; None selects all."""

    steps: range | None = None
    epochs: range | None = None
    batches: range | None = None


def make_op_filter(
    type: NamePattern | None = None,
    name_pattern: NamePattern | None = None,
    layer: NamePattern | None = None,
    file: str | None = None,
    line: int | None = None,
    op: Op | None = None,
) -> OpFilter:
    """Return a filter of the ops that fulfil all of these conditions."""
    tests: list[OpTest] = []
    output = None
    if type is not None:
        tests.append(_matching("type", type))
    if isinstance(name_pattern, str) and (numbered := _OUTPUT_NAME.fullmatch(name_pattern)):
        name_pattern, output = numbered[1], int(numbered[2])
    if name_pattern is not None:
        tests.append(_matching("name", name_pattern))
    if layer is not None:
        tests.append(_in_layer(layer))
    if file is not None:
        tests.append(lambda op: op.file is not None and same_file(op.file, file))
    if line is not None:
        tests.append(lambda op: op.line == line)
    if op is not None:
        tests.append(lambda other: other is op or other == op)
    return OpFilter(tuple(tests), output)


def _matching(field: str, text: NamePattern) -> OpTest:
    """Return a test of a whole field against a name or a regular expression."""
    pattern = _pattern(field, text)
    get = operator.attrgetter(field)
    return lambda op: pattern.fullmatch(get(op)) is not None


def _in_layer(layer: NamePattern) -> OpTest:
    """Return a test for consecutive scopes: `dense_1` matches `model/dense_1/sub`."""
    asked = _pattern("layer", layer)
    pattern = re.compile(f"(?:.*/)?(?:{asked.pattern.strip('/')})(?:/.*)?", asked.flags)
    return lambda op: op.layer is not None and pattern.fullmatch(op.layer) is not None


def _pattern(field: str, text: NamePattern) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        hint = f"To match {text!r} literally, pass re.escape({text!r})."
        raise SleuthError(f"{field} {text!r} is not a regular expression: {error}. {hint}") from error


def same_file(path: str, asked: str) -> bool:
    """Return whether a path equals the requested one or ends with it: `train.py`, `models/train.py`."""
    return path == asked or path.endswith("/" + asked.removeprefix("./"))


def find_file(paths: Iterable[str], asked: str) -> str:
    """Return the one path that a user means by the end of a path."""
    paths = sorted(paths)
    found = [path for path in paths if path == asked] or [path for path in paths if same_file(path, asked)]
    if len(found) == 1:
        return found[0]
    if found:
        raise SleuthError(
            f"{asked!r} could be {len(found)} files: {', '.join(found[:_MAX_LISTED_FILES])}. Give more of the path."
        )
    named = ", ".join(paths[:_MAX_LISTED_FILES]) or "none"
    raise SleuthError(f"the run has no source of {asked!r}. It kept {len(paths)} files: {named}. Choose one of them.")


def step_range(asked: StepSelector, recorded: Array) -> range:
    """Return the selected training steps; `recorded` has all steps of the run, in order."""
    end = int(recorded[-1]) + 1 if len(recorded) else 0
    if isinstance(asked, slice):
        asked = range(*asked.indices(end))
    if isinstance(asked, range):
        return asked if asked.step > 0 else asked[::-1]
    step = _known_step(asked, recorded, end)
    return range(step, step + 1)


def number_range(what: str, asked: SupportsIndex | range | None) -> range | None:
    """Return the selected epochs or batches."""
    if asked is None:
        return None
    if isinstance(asked, range):
        return asked if asked.step > 0 else asked[::-1]
    try:
        number = operator.index(asked)
    except TypeError:
        raise SleuthError(f"{what} is {asked!r}; it must be a number or a range, e.g. range(10).") from None
    return range(number, number + 1)


def in_steps(column: Array, steps: range) -> Array:
    """Return which entries of a column of training steps are in an ascending range."""
    inside: Array = (column >= max(steps.start, 0)) & (column < steps.stop) & ((column - steps.start) % steps.step == 0)
    return inside


def _known_step(asked: SupportsIndex, recorded: Array, end: int) -> int:
    try:
        number = operator.index(asked)
    except TypeError:
        raise SleuthError(f"step is {asked!r}; it must be a number, a range or a slice, e.g. range(10).") from None
    number = number + end if number < 0 else number
    if not end:
        raise SleuthError(f"there is no step {number}: the run has no training steps. Leave step out.")
    if not np.isin(number, recorded):
        steps = f"steps from {recorded[0]} to {end - 1}"
        raise SleuthError(f"there is no step {number}: the run has {steps}. trace.steps lists them.")
    return number
