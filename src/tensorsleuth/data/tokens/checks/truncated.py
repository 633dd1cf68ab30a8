"""Most samples were cut: their ends are gone, and with them what a label may be about."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.batch import Stream
from tensorsleuth.data.tokens.check import Found, StreamCheck
from tensorsleuth.data.tokens.wording import row_ends

ROWS = 4  # to tell by
MOST = 0.5


class Truncated(StreamCheck):
    """Rows without padding that lost the end token which other rows have, or that are all as long as may be."""

    def look(self, found: Found, stream: Stream) -> None:
        notes = found.notes
        full, ends = stream.all_tokens, self._ended(stream)
        cut = np.asarray(full & ~ends)
        notes["packed"] = notes.get("packed", False) or self._packed(stream)
        notes["longest"] = max(notes.get("longest", 0), stream.ids.shape[1])
        for name, marks in (("full", full), ("cut", cut), ("ended", ends)):
            notes[name] = notes.get(name, 0) + int(np.count_nonzero(marks))
        found.rows_where(stream, cut if self.setting.vocabulary.ends is not None else full, row_ends)

    def _ended(self, stream: Stream) -> npt.NDArray[np.bool_]:
        """Return which rows have the end token as their last one."""
        end = self.setting.vocabulary.ends
        if end is None or not stream.ids.size:
            return np.zeros(len(stream.ids), bool)
        last = stream.ids.shape[1] - 1 - np.argmax(stream.tokens[:, ::-1], axis=1)
        return np.asarray(stream.ids[np.arange(len(stream.ids)), last] == end)

    def _packed(self, stream: Stream) -> bool:
        """Are several texts in a row: one begins behind another token, or ends before one."""
        vocabulary, real = self.setting.vocabulary, ~stream.padding
        end = vocabulary["eos"] if vocabulary["sep"] is None else None
        behind, before = np.cumsum(real, axis=1) > 1, np.cumsum(real[:, ::-1], axis=1)[:, ::-1] > 1
        marks = [
            (stream.ids == one) & at for one, at in ((vocabulary.starts, behind), (end, before)) if one is not None
        ]
        return any(bool((mark & real)[:, 1:-1].any()) for mark in marks)

    def judge(self, name: str, found: Found) -> Iterator[Violation]:
        notes, limit = found.notes, self.setting.max_length
        if notes["packed"] or found.total < ROWS or self.setting.causal:
            return
        longest, severity = notes["longest"], "warning"
        if self.setting.vocabulary.ends is not None and notes["cut"] > MOST * found.total and notes["ended"]:
            expected, what = "the end token at the end of most rows", f"rows cut at {longest:,} tokens"
        elif limit is not None and longest >= limit and notes["full"] > MOST * found.total:
            expected, what = f"most rows shorter than {limit:,} tokens", "rows as long as may be, without padding"
        elif self.setting.vocabulary.ends is not None and notes["cut"] == found.total:
            expected, what, severity = (
                "the end token at the end of most rows",
                f"rows of {longest:,} tokens without it",
                "note",
            )
        else:
            return
        told = found.told() if found.broken else {"broken": notes["full"], "total": found.total}
        change = "Allow longer rows (max_length), or split long texts; where texts are packed into rows, this is meant."
        yield Violation("truncated", name, expected, what, change=change, severity=severity, **told)


CHECK = Truncated
