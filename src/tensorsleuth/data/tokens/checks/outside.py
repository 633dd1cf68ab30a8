"""Finds ids that are not in the vocabulary: an embedding returns zeros, wrong rows, or an error for them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.batch import TokenStream
from tensorsleuth.data.tokens.check import StreamCheck, TokenTally
from tensorsleuth.data.tokens.token_texts import rows_text, token_in_row


class VocabularyCheck(StreamCheck):
    def inspect(self, token_tally: TokenTally, token_stream: TokenStream) -> None:
        size = self.setting.vocabulary.size
        wrong = token_stream.present & (token_stream.ids < 0)
        if size is not None:
            wrong |= token_stream.present & (token_stream.ids >= size)
        token_tally.total += int(np.count_nonzero(token_stream.present))
        if wrong.any():
            ids = token_stream.ids[wrong]
            low, high = token_tally.notes.get("range", (0, 0))
            token_tally.notes["range"] = min(low, int(ids.min())), max(high, int(ids.max()))
            token_tally.notes["ignore"] = bool((ids == self.setting.ignore).all()) and token_tally.notes.get(
                "ignore", True
            )
            token_tally.positions_where(token_stream, wrong, token_in_row)
        else:
            token_tally.of_rows += len(wrong)

    def judge(self, name: str, token_tally: TokenTally) -> Iterator[Violation]:
        if token_tally.broken:
            size = self.setting.vocabulary.size
            expected = f"ids from 0 to {size - 1:,}" if size is not None else "ids of 0 or more"
            low, high = token_tally.notes["range"]
            span = (
                f"ids down to {low}"
                if high <= 0
                else f"ids up to {high:,}"
                if low >= 0
                else f"ids from {low} to {high:,}"
            )
            yield Violation(
                "vocabulary", name, expected, f"{span}, {rows_text(token_tally.rows, token_tally.of_rows)}",
                change=self._change(low, high, bool(token_tally.notes["ignore"])), **token_tally.violation_fields(),
            )  # fmt: skip

    def _change(self, low: int, high: int, ignore: bool) -> str:
        size = self.setting.vocabulary.size
        if ignore:
            return (
                f"{self.setting.ignore} is for labels that the loss ignores, not for ids: padding has an id of its own."
            )
        if low < 0:
            return "An embedding has no rows for negative ids: fill padding and unknown words with ids of their own."
        if size is not None and high == size:
            return f"They count from 1, or one token was added: make the embedding one larger ({size + 1:,})."
        return "Use the tokenizer that the model was trained with; after adding tokens, resize the embedding."


CHECK = VocabularyCheck
