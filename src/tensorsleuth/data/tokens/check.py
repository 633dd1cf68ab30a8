"""The interface of a token check: it sees every batch once, in order, and reports at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.check import DATA
from tensorsleuth.data.tally import KEPT, Tally
from tensorsleuth.data.tokens.batch import Batch, Stream
from tensorsleuth.data.tokens.setting import Setting

Tell = Callable[[Stream, int, int], Any]


class Check:
    """Base of all checks."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    def see(self, batch: Batch) -> None:
        raise NotImplementedError

    def end(self) -> Iterator[Violation]:
        raise NotImplementedError


class Found(Tally):
    """The number of wrong positions or rows, of affected rows, and the first few of them."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = 0  # that have one
        self.of_rows = 0
        self.notes: dict[str, Any] = {}  # what else a check keeps

    def positions_where(self, stream: Stream, wrong: npt.NDArray[np.bool_], tell: Tell) -> None:
        """Positions that are wrong, each told by `tell(stream, row, column)`."""
        self.of_rows += len(wrong)
        self.broken += int(np.count_nonzero(wrong))
        self.rows += int(np.count_nonzero(wrong.any(axis=1))) if wrong.size else 0
        for row, column in np.argwhere(wrong)[: KEPT - len(self.positions)]:
            self.positions.append(stream.at(int(row), int(column)))
            self.values.append(tell(stream, int(row), int(column)))

    def rows_where(self, stream: Stream, wrong: npt.NDArray[np.bool_], tell: Callable[[Stream, int], Any]) -> None:
        """Rows that are wrong as wholes."""
        self.total += len(wrong)
        self.broken += int(np.count_nonzero(wrong))
        for row in np.flatnonzero(wrong)[: KEPT - len(self.positions)]:
            self.positions.append(stream.at(int(row)))
            self.values.append(tell(stream, int(row)))


class StreamCheck(Check):
    """A check of one stream at a time, which keeps what it found for each stream of each part."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._found: dict[tuple[str, str], Found] = {}

    def see(self, batch: Batch) -> None:
        for stream in batch.streams:
            if self.wants(stream):
                self.look(self._found.setdefault((batch.part, self.subject(stream)), Found()), stream)

    def end(self) -> Iterator[Violation]:
        for (part, name), found in self._found.items():
            for violation in self.judge(name, found):
                yield violation if part == DATA else replace(violation, where=part)

    def wants(self, stream: Stream) -> bool:
        """Return whether there is anything to look for."""
        return True

    def subject(self, stream: Stream) -> str:
        """Return the subject of the finding, in the user's words."""
        return stream.name

    def look(self, found: Found, stream: Stream) -> None:
        raise NotImplementedError

    def judge(self, name: str, found: Found) -> Iterator[Violation]:
        raise NotImplementedError


class FormCheck(Check):
    """A check of types or shapes: one finding for each part of the batch, from the first batch that shows it."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._told: dict[tuple[str, str], Violation] = {}

    def see(self, batch: Batch) -> None:
        for one in self.told(batch):
            if one is not None:
                self._told.setdefault((batch.part, one.name), one)

    def end(self) -> Iterator[Violation]:
        for (part, _), violation in self._told.items():
            yield violation if part == DATA else replace(violation, where=part)

    def told(self, batch: Batch) -> Iterator[Violation | None]:
        raise NotImplementedError


class MaskCheck(StreamCheck):
    """A check of the mask of a stream, where it has one for each position."""

    def wants(self, stream: Stream) -> bool:
        return stream.kept is not None

    def subject(self, stream: Stream) -> str:
        assert stream.mask is not None
        return stream.mask.name


class LabelCheck(StreamCheck):
    """A check of the labels of a stream."""

    def wants(self, stream: Stream) -> bool:
        return stream.labels is not None and not stream.labels.grid.text

    def subject(self, stream: Stream) -> str:
        assert stream.labels is not None
        return stream.labels.name
