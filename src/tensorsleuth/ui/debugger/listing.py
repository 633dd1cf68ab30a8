"""A list of tensors as the debugger shows it: of any length, read page by page."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.trace.query.ops import Op
from tensorsleuth.trace.query.tensor_event import TensorEvent
from tensorsleuth.trace.query.tensors import Tensors
from tensorsleuth.ui.debugger import filters

SORTS = ("time", "name", "op", "step", "size", "nan", "inf", "zero", "min", "max", "mean", "std", "abs_max", "norm")
TFDBG_SORTS = {"timestamp": "time", "dump_size": "size", "op_type": "op", "tensor_name": "name"}


@dataclass(frozen=True)
class ListOptions:
    """The filters and the order of a list, which can be applied again to a longer trace."""

    filter: str | None = None
    name: str | None = None
    type: str | None = None
    text: str | None = None
    step: int | None = None
    sort: str = "time"
    reverse: bool = False
    without: str | None = None  # a regular expression for names to leave out

    @property
    def is_by_time(self) -> bool:
        """Return whether the list is in order of time."""
        return self.sort == "time" and not self.reverse

    @property
    def title(self) -> str:
        """Return the title: tensors, alerts, or the filters."""
        if self.filter in ("has_inf_or_nan", "bad") and not (self.name or self.type or self.text or self.without):
            return "alerts"
        asked = (self.filter, self.name and f"name {self.name}", self.type and f"op {self.type}", self.text)
        step = f"step {self.step}" if self.step is not None else None
        without = self.without and f"without {self.without}"
        return ", ".join(part for part in (*asked, step, without) if part) or "tensors"


class Listing:
    """The numbers of some tensors of a run, in the order in which the list shows them."""

    def __init__(self, everything: Tensors, places: Array, list_options: ListOptions) -> None:
        self.everything = everything
        self.places = places
        self.options = list_options

    def __len__(self) -> int:
        return len(self.places)

    def event(self, at: int) -> TensorEvent:
        return self.everything[int(self.places[at])]

    def find(self, place: int) -> int | None:
        """Return the position of a tensor in the list."""
        at = np.flatnonzero(self.places == place)
        return int(at[0]) if len(at) else None

    def nearest_by_time(self, place: int) -> int:
        """In a list by time, return the position of the first tensor that is not before `place`."""
        return min(int(np.searchsorted(self.places, place)), max(len(self) - 1, 0))


def make_listing(everything: Tensors, list_options: ListOptions) -> Listing:
    """Return the tensors that pass the filters, in order."""
    keep = np.ones(len(everything), bool)
    if list_options.step is not None:
        keep &= everything.health["step"] == list_options.step
    for test in _tests(list_options):
        keep &= everything.words(test).astype(bool)
    if list_options.filter:
        keep &= filters.evaluate_filter(list_options.filter, everything)
    return Listing(everything, _sorted(everything, np.flatnonzero(keep), list_options), list_options)


def _tests(list_options: ListOptions) -> Iterator[Callable[[Op], object]]:
    """Yield the conditions on a tensor's op."""
    if list_options.name:
        by_name = compile_pattern(re.sub(r":\d+$", "", list_options.name))
        yield lambda op: by_name.match(op.name)
    if list_options.without:
        left_out = compile_pattern(list_options.without)
        yield lambda op: not left_out.match(op.name)
    if list_options.type:
        by_type = compile_pattern(list_options.type)
        yield lambda op: by_type.match(op.type)
    if list_options.text:
        text = list_options.text.lower()
        yield lambda op: text in f"{op.name} {op.type} {op.layer} {op.file}:{op.line}".lower()


def compile_pattern(text: str) -> re.Pattern[str]:
    """Compile a regular expression that the user typed."""
    try:
        return re.compile(text)
    except re.error as error:
        raise SleuthError(f"{text!r} is not a regular expression: {error}. Put a \\ before special signs.") from error


def _alphabetical(everything: Tensors, field: str) -> Array:
    """Return for each tensor the rank of its op's text in alphabetical order: texts themselves are slow to sort."""
    get = operator.attrgetter({"op": "type"}.get(field, field))
    words: set[str] = set()
    everything.words(lambda op: words.add(get(op)))
    ranks = {word: rank for rank, word in enumerate(sorted(words))}
    return everything.words(lambda op: ranks[get(op)]).astype(np.int64)


def _sorted(everything: Tensors, places: Array, list_options: ListOptions) -> Array:
    if list_options.sort not in SORTS:
        raise SleuthError(f"tensors cannot be sorted by {list_options.sort!r}. Take one of {', '.join(SORTS)}.")
    if list_options.sort != "time":
        keys = (
            _alphabetical(everything, list_options.sort)
            if list_options.sort in ("name", "op")
            else filters.FILTER_COLUMNS[list_options.sort](everything)
        )
        keys = keys[places]
        if list_options.reverse and keys.dtype.kind == "f":
            keys = np.where(np.isnan(keys), -np.inf, keys)  # unknown values stay last
        places = places[np.argsort(keys, kind="stable")]
    return places[::-1] if list_options.reverse else places
