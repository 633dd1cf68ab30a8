"""Finds padding that counts in the loss: the model learns to predict it, and the loss looks better than it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.batch import TokenStream
from tensorsleuth.data.tokens.check import LabelCheck, TokenTally
from tensorsleuth.data.tokens.padding import Marks, edge_runs
from tensorsleuth.data.tokens.shift import ShiftAgreement
from tensorsleuth.data.tokens.token_texts import rows_text


class LossPaddingCheck(LabelCheck):
    def inspect(self, token_tally: TokenTally, token_stream: TokenStream) -> None:
        marks, labels = self._wrong(token_stream)
        if marks is None or labels is None:
            return
        token_tally.total += labels.size
        token_tally.notes["other"] = token_tally.notes.get("other", 0) + int(
            np.count_nonzero(marks & (labels != self.setting.pad))
        )
        token_tally.positions_where(token_stream, marks, lambda _, row, column: int(labels[row, column]))

    def _wrong(self, token_stream: TokenStream) -> tuple[Marks | None, Any]:
        """Return where padding counts. A target text that differs from the input has its own padding."""
        labels = token_stream.label_ids
        if labels is None:
            return self._in_labels(token_stream)
        wrong = token_stream.padding & token_stream.counted
        shift_agreement = ShiftAgreement()
        shift_agreement.add(token_stream.ids, labels, token_stream.tokens, token_stream.counted)
        filled = bool((wrong == token_stream.padding).all()) and len(np.unique(labels[wrong])) == 1
        if not wrong.any() or shift_agreement.offset is not None or filled:
            return wrong, labels
        return self._in_labels(token_stream)

    def _in_labels(self, token_stream: TokenStream) -> tuple[Marks | None, Any]:
        """Return where labels end in their own padding."""
        assert token_stream.labels is not None
        labels = token_stream.labels.values
        if (
            self.setting.pad is None
            or labels.ndim != 2
            or labels.dtype.kind not in "iu"
            or token_stream.setting.pad_may_be_token
        ):
            return None, None
        if labels.shape[1] < 3 or int(labels.max(initial=0)) <= 1 or token_stream.weights is not None:
            return None, None  # classes, not tokens
        there = token_stream.labels.grid.marks()
        trail = edge_runs((labels == self.setting.pad) & there, there)[1]
        return (trail, labels) if (trail.sum(axis=1) > 1).any() else (None, None)

    def judge(self, name: str, token_tally: TokenTally) -> Iterator[Violation]:
        if not token_tally.broken:
            return
        ignore, pad = self.setting.ignore, self.setting.pad
        certain = self.setting.together or bool(self.setting.causal) or token_tally.notes["other"] > 0
        change = f"Set labels there to {ignore}, or sample_weight to 0."
        if not certain:
            change += f" If the loss ignores {pad} (mask_zero, ignore_class={pad}), pass ignore={pad}."
        yield Violation(
            "loss-padding", name, f"{ignore} or sample_weight 0 where there is padding",
            f"labels that count, {rows_text(token_tally.rows, token_tally.of_rows)}", change=change,
            severity=self.setting.padding_severity if certain else "warning", **token_tally.violation_fields(),
        )  # fmt: skip


CHECK = LossPaddingCheck
