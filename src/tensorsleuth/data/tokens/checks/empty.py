"""Finds samples without content: rows of length 0, rows of special tokens only, empty texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tensorsleuth.core.violation import ValueNote, Violation
from tensorsleuth.data.block import missing_objects
from tensorsleuth.data.check import DATA
from tensorsleuth.data.tokens.batch import NamedGrid, TokenBatch, TokenStream
from tensorsleuth.data.tokens.check import StreamCheck, TokenTally
from tensorsleuth.data.tokens.padding import Marks
from tensorsleuth.data.tokens.settings import TokenSettings
from tensorsleuth.data.tokens.token_texts import row_start_text


class EmptySampleCheck(StreamCheck):
    def __init__(self, token_settings: TokenSettings) -> None:
        super().__init__(token_settings)
        self._texts: dict[tuple[str, str], TokenTally] = {}
        special = {number for name, number in token_settings.vocabulary.specials.items() if name not in ("mask", "unk")}
        self._special = np.array(sorted(special), np.int64)

    def see(self, token_batch: TokenBatch) -> None:
        super().see(token_batch)
        for text in token_batch.texts:
            self._see_text(self._texts.setdefault((token_batch.part, text.name), TokenTally()), text, token_batch.start)

    def inspect(self, token_tally: TokenTally, token_stream: TokenStream) -> None:
        words = token_stream.tokens & ~np.isin(token_stream.ids, self._special)
        hollow: Marks = np.asarray(
            ~words.any(axis=1) & (token_stream.tokens.any(axis=1) | ~token_stream.present.any(axis=1))
        )
        if token_stream.decoder and token_stream.labels is None:
            hollow[:] = False  # a start token alone begins a generation
        token_tally.notes["none"] = token_tally.notes.get("none", 0) + int(
            np.count_nonzero(hollow & ~token_stream.present.any(axis=1))
        )
        token_tally.rows_where(token_stream, hollow, row_start_text)

    def _see_text(self, token_tally: TokenTally, text: NamedGrid, start: int) -> None:
        flat = text.values.reshape(-1)
        blank = missing_objects(np.array([str(one).strip() if isinstance(one, str) else one for one in flat], object))
        token_tally.total += len(flat)
        token_tally.broken += int(np.count_nonzero(blank))
        for row in np.flatnonzero(blank)[: 5 - len(token_tally.positions)]:
            token_tally.positions.append((start + int(row),))
            token_tally.values.append(ValueNote(repr(flat[row])))

    def end(self) -> Iterator[Violation]:
        yield from super().end()
        for (part, name), found in self._texts.items():
            if found.broken:
                told = Violation(
                    "empty", name, "a text in every row", "rows without one", severity="warning",
                    change="Drop these rows before they are tokenized.", **found.violation_fields(),
                )  # fmt: skip
                yield told if part == DATA else replace(told, where=part)

    def judge(self, name: str, token_tally: TokenTally) -> Iterator[Violation]:
        if token_tally.broken:
            none = token_tally.notes["none"]
            what = "rows of no length" if none == token_tally.broken else "rows of special tokens only"
            yield Violation(
                "empty", name, "a word in every row", what, severity="error" if none else "warning",
                change="Drop empty texts before they are tokenized.", **token_tally.violation_fields(),
            )  # fmt: skip


CHECK = EmptySampleCheck
