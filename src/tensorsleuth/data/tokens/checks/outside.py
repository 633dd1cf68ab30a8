"""Ids that are not in the vocabulary: an embedding gives zeros, other rows, or an error for them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.batch import Stream
from tensorsleuth.data.tokens.check import Found, StreamCheck
from tensorsleuth.data.tokens.wording import in_its_row, in_rows


class Outside(StreamCheck):
    def look(self, found: Found, stream: Stream) -> None:
        size = self.setting.vocabulary.size
        wrong = stream.there & (stream.ids < 0)
        if size is not None:
            wrong |= stream.there & (stream.ids >= size)
        found.total += int(np.count_nonzero(stream.there))
        if wrong.any():
            ids = stream.ids[wrong]
            low, high = found.notes.get("range", (0, 0))
            found.notes["range"] = min(low, int(ids.min())), max(high, int(ids.max()))
            found.notes["ignore"] = bool((ids == self.setting.ignore).all()) and found.notes.get("ignore", True)
            found.positions_where(stream, wrong, in_its_row)
        else:
            found.of_rows += len(wrong)

    def judge(self, name: str, found: Found) -> Iterator[Violation]:
        if found.broken:
            size = self.setting.vocabulary.size
            expected = f"ids from 0 to {size - 1:,}" if size is not None else "ids of 0 or more"
            low, high = found.notes["range"]
            span = (
                f"ids down to {low}"
                if high <= 0
                else f"ids up to {high:,}"
                if low >= 0
                else f"ids from {low} to {high:,}"
            )
            yield Violation(
                "vocabulary", name, expected, f"{span}, {in_rows(found.rows, found.of_rows)}",
                change=self._change(low, high, bool(found.notes["ignore"])), **found.told(),
            )  # fmt: skip

    def _change(self, low: int, high: int, ignore: bool) -> str:
        size = self.setting.vocabulary.size
        if ignore:
            return f"{self.setting.ignore} is for labels that do not count, not for ids: padding has an id of its own."
        if low < 0:
            return "Negative ids are not looked up: fill padding and unknown words with ids of their own."
        if size is not None and high == size:
            return f"They count from 1, or one token was added: make the embedding one larger ({size + 1:,})."
        return "Use the tokenizer that the model was made for; after adding tokens, resize the embedding."


CHECK = Outside
