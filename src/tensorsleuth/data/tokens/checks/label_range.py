"""Finds labels outside the vocabulary that are not ignored: an error, or NaN if XLA compiles the loss."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.batch import TokenStream
from tensorsleuth.data.tokens.check import LabelCheck, TokenTally
from tensorsleuth.data.tokens.token_texts import rows_text


class LabelRangeCheck(LabelCheck):
    """The range check of labels for each position, if the classes are unknown."""

    def wants(self, token_stream: TokenStream) -> bool:
        labels = token_stream.label_ids
        return super().wants(token_stream) and labels is not None and labels.dtype.kind in "iu"

    def inspect(self, token_tally: TokenTally, token_stream: TokenStream) -> None:
        labels, size = token_stream.label_ids, self.setting.vocabulary.size
        assert labels is not None
        wrong = token_stream.counted & ((labels < 0) if size is None else (labels < 0) | (labels >= size))
        if wrong.any():
            wrong &= ~np.isin(
                labels, token_stream.ids[token_stream.present & (token_stream.ids >= (size or np.inf))]
            )  # the check of ids reports these
        token_tally.total += int(np.count_nonzero(token_stream.present))
        token_tally.notes.setdefault("seen", set()).update(np.unique(labels[wrong])[:2].tolist())
        token_tally.positions_where(token_stream, wrong, lambda _, row, column: int(labels[row, column]))

    def judge(self, name: str, token_tally: TokenTally) -> Iterator[Violation]:
        if token_tally.broken:
            size, seen = self.setting.vocabulary.size, sorted(token_tally.notes["seen"])
            expected = f"labels from 0 to {size - 1:,}" if size is not None else "labels of 0 or more"
            change = "Use the tokenizer that the model was trained with."
            if len(seen) == 1 and seen[0] < 0:
                change = f"If the loss should ignore {seen[0]}, pass ignore={seen[0]} here and to the loss."
            yield Violation(
                "label-range",
                name,
                f"{expected}, or {self.setting.ignore}",
                f"others, such as {seen[0]}, {rows_text(token_tally.rows, token_tally.of_rows)}",
                change=change,
                **token_tally.violation_fields(),
            )


CHECK = LabelRangeCheck
