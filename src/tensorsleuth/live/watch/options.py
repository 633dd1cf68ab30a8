"""The arguments of `watch`, parsed."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tensorsleuth.core.dtypes import DTYPES, STRING, Kind
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.layout.rows import What
from tensorsleuth.core.ops import kinds as ops
from tensorsleuth.recording.structure.selector import Selector, Subject, read_watched

WHATS = {
    "scalar": What.SCALAR,
    "norm": What.NORM,
    "histogram": What.HISTOGRAM,
    "quantiles": What.QUANTILES,
    "image": What.IMAGE,
    "text": What.TEXT,
    "value": What.VALUE,
}
USUAL = What.SCALAR | What.NORM | What.HISTOGRAM | What.TEXT


@dataclass(frozen=True, eq=False)
class Wanted:
    """The tensors to watch, the interval, and the measures."""

    text: str
    selectors: tuple[Selector, ...]
    every: int
    what: What

    def tensor(self, subject: Subject, dtype: int) -> bool:
        """Return whether it is about a tensor that an op computes; variables are looked at when a step has ended."""
        known = DTYPES.get(dtype)
        number = known is not None and known.kind is not Kind.OTHER
        if not (number or (dtype == STRING and self.what & What.TEXT)) or subject.type in ops.STATIC:
            return False
        if subject.type in ops.CONTROL_FLOW and not subject.is_gradient:
            return False  # what is in there is looked at
        kinds = (selector for selector in self.selectors if selector.kind not in ("variable", "update"))
        return any(selector.wants(subject) for selector in kinds if selector.kind or not _reads(subject))

    @property
    def inside(self) -> bool:
        """Return whether it says that it is about what is inside of functions."""
        return any(selector.kind in ("op", "name", "layer", "gradient") for selector in self.selectors)

    def variable(self, name: str, trainable: bool) -> bool:
        """A name alone means what is trained: an optimizer has variables of the same names."""
        subject = Subject(name, "variable", variable=name)
        kinds = ("", "variable") if trainable else ("variable",)
        return any(selector.wants(subject) for selector in self.selectors if selector.kind in kinds)

    def update(self, name: str) -> bool:
        subject = Subject(name, "variable", variable=name)
        return any(selector.wants(subject) for selector in self.selectors if selector.kind == "update")

    def gradient(self, name: str) -> bool:
        """Return whether an eager gradient is watched; those of functions are tensors of theirs."""
        subject = Subject(name, "gradient", gradient_of=(name,))
        return any(selector.wants(subject) for selector in self.selectors if selector.kind == "gradient")

    def gradient_tensor(self, subject: Subject) -> bool:
        """Return whether a tensor of a function is asked for as a gradient."""
        return any(selector.kind == "gradient" and selector.wants(subject) for selector in self.selectors)


def _reads(subject: Subject) -> bool:
    return subject.variable is not None or subject.type in ops.READS


def make_wanted(tensors: str | Sequence[str], every: int, what: str | Sequence[str] | None) -> Wanted:
    """Check what the user gave; say what is wrong with it."""
    return Wanted(str(tensors), read_watched(tensors), checked_every(every), read_what(what))


def checked_every(every: int) -> int:
    if not isinstance(every, int) or isinstance(every, bool) or every < 1:
        raise SleuthError(f"every is {every!r}; it must be a number of steps, from 1 on.")
    return every


def read_what(what: str | Sequence[str] | None) -> What:
    """As flags; None is what is usual."""
    if what is None:
        return USUAL
    names = [what] if isinstance(what, str) or not isinstance(what, Iterable) else list(what)
    if not names or not all(isinstance(name, str) for name in names):
        raise SleuthError(f"what is {what!r}; it must be one or more of {', '.join(WHATS)}.")
    asked = What(0)
    for name in names:
        if name not in WHATS:
            near = difflib.get_close_matches(name, WHATS, 1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise SleuthError(f"what has no {name!r}.{hint} It must be one or more of {', '.join(WHATS)}.")
        asked |= WHATS[name]
    return asked
