"""The health of each line: that of its worst tensors, and their number."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tensorsleuth.trace.query.ops import Op
from tensorsleuth.trace.query.tensors import Tensors
from tensorsleuth.ui.debugger.result import Tone


@dataclass
class LineHealth:
    """The health of a line."""

    tensors: int = 0
    bad: int = 0
    nan: int = 0
    first_bad: int | None = None  # the number of its first bad tensor

    @property
    def text(self) -> str:
        """Return a text such as `NaN ×12, ∞ ×3, ok ×50`."""
        if not self.bad:
            return f"ok ×{_short(self.tensors)}"
        return f"{'NaN' if self.nan else '∞'} ×{_short(self.bad)}"

    @property
    def tone(self) -> Tone:
        return Tone.BAD if self.bad else Tone.GOOD


class LineHealthIndex:
    """The health of each line, by file."""

    def __init__(self, everything: Tensors) -> None:
        self._everything = everything

    @cached_property
    def _marks(self) -> dict[str, dict[int, LineHealth]]:
        keys: dict[tuple[str, int], int] = {}
        which = self._everything.words(lambda op: _number(keys, op)).astype(np.int64)
        bad = self._everything.health["bad"] & (which >= 0)
        nan = bad & (self._everything.health["nan"] != 0)  # -1 means not counted: it may hold a NaN
        counts = [np.bincount(which[mask], minlength=len(keys)) for mask in (which >= 0, bad, nan)]
        places = np.flatnonzero(bad)[::-1]
        firsts = dict(zip(which[places].tolist(), places.tolist()))  # the last entry of a key wins: the first tensor
        marks: dict[str, dict[int, LineHealth]] = defaultdict(dict)
        for (file, line), at in keys.items():
            tensors, worse, worst = (int(count[at]) for count in counts)
            marks[file][line] = LineHealth(tensors, worse, worst, firsts.get(at))
        return marks

    def of_file(self, file: str) -> dict[int, LineHealth]:
        """Return the health of a file's lines, by line number."""
        return self._marks.get(file, {})

    @property
    def files(self) -> list[str]:
        return sorted(self._marks)


def _number(keys: dict[tuple[str, int], int], op: Op) -> int:
    """Return the number of an op's line: the next free one for a line not seen before, -1 without a line."""
    return -1 if op.file is None or op.line is None else keys.setdefault((op.file, op.line), len(keys))


def _short(number: int) -> str:
    return f"{number:,}" if number < 10_000 else f"{number // 1000}k"
