"""Rows with nothing but padding: attention over nothing is NaN, and a mean over them is wrong."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.batch import Stream
from tensorsleuth.data.tokens.check import Found, StreamCheck
from tensorsleuth.data.tokens.wording import row_begins


class AllPadding(StreamCheck):
    def look(self, found: Found, stream: Stream) -> None:
        empty = stream.there.any(axis=1) & (stream.padding == stream.there).all(axis=1)
        if stream.weights is not None:
            empty &= stream.counted.any(axis=1)  # rows that fill up the last batch weigh nothing
        found.rows_where(stream, empty, row_begins)

    def judge(self, name: str, found: Found) -> Iterator[Violation]:
        if found.broken:
            yield Violation(
                "all-padding", name, "a token in every row", f"rows of nothing but padding (id {self.setting.pad})",
                change="Drop these rows, or give them sample_weight 0: attention over nothing is NaN or an even mean.",
                severity=self.setting.of_padding, **found.told(),
            )  # fmt: skip


CHECK = AllPadding
