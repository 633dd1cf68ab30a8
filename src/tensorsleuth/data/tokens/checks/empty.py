"""Samples without a word: rows of no length, rows of special tokens only, empty texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tensorsleuth.core.violation import Remark, Violation
from tensorsleuth.data.block import missing_objects
from tensorsleuth.data.check import DATA
from tensorsleuth.data.tokens.batch import Batch, Named, Stream
from tensorsleuth.data.tokens.check import Found, StreamCheck
from tensorsleuth.data.tokens.padding import Marks
from tensorsleuth.data.tokens.setting import Setting
from tensorsleuth.data.tokens.wording import row_begins


class Empty(StreamCheck):
    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._texts: dict[tuple[str, str], Found] = {}
        special = {number for name, number in setting.vocabulary.specials.items() if name not in ("mask", "unk")}
        self._special = np.array(sorted(special), np.int64)

    def see(self, batch: Batch) -> None:
        super().see(batch)
        for text in batch.texts:
            self._see_text(self._texts.setdefault((batch.part, text.name), Found()), text, batch.start)

    def look(self, found: Found, stream: Stream) -> None:
        words = stream.tokens & ~np.isin(stream.ids, self._special)
        hollow: Marks = np.asarray(~words.any(axis=1) & (stream.tokens.any(axis=1) | ~stream.there.any(axis=1)))
        if stream.decoder and stream.labels is None:
            hollow[:] = False  # what starts a generation
        found.notes["none"] = found.notes.get("none", 0) + int(np.count_nonzero(hollow & ~stream.there.any(axis=1)))
        found.rows_where(stream, hollow, row_begins)

    def _see_text(self, found: Found, text: Named, start: int) -> None:
        flat = text.values.reshape(-1)
        blank = missing_objects(np.array([str(one).strip() if isinstance(one, str) else one for one in flat], object))
        found.total += len(flat)
        found.broken += int(np.count_nonzero(blank))
        for row in np.flatnonzero(blank)[: 5 - len(found.positions)]:
            found.positions.append((start + int(row),))
            found.values.append(Remark(repr(flat[row])))

    def end(self) -> Iterator[Violation]:
        yield from super().end()
        for (part, name), found in self._texts.items():
            if found.broken:
                told = Violation(
                    "empty", name, "a text in every row", "rows without one", severity="warning",
                    change="Drop these rows before they are made ids.", **found.told(),
                )  # fmt: skip
                yield told if part == DATA else replace(told, where=part)

    def judge(self, name: str, found: Found) -> Iterator[Violation]:
        if found.broken:
            none = found.notes["none"]
            what = "rows of no length" if none == found.broken else "rows of special tokens only"
            yield Violation(
                "empty", name, "a word in every row", what, severity="error" if none else "warning",
                change="Drop empty texts before they are made ids.", **found.told(),
            )  # fmt: skip


CHECK = Empty
