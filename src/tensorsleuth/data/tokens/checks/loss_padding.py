"""Padding that counts in the loss: the model learns to predict it, and the loss looks better than it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.batch import Stream
from tensorsleuth.data.tokens.check import Found, LabelCheck
from tensorsleuth.data.tokens.padding import Marks, edges
from tensorsleuth.data.tokens.shift import Agreement
from tensorsleuth.data.tokens.wording import in_rows


class LossPadding(LabelCheck):
    def look(self, found: Found, stream: Stream) -> None:
        marks, labels = self._wrong(stream)
        if marks is None or labels is None:
            return
        found.total += labels.size
        found.notes["other"] = found.notes.get("other", 0) + int(np.count_nonzero(marks & (labels != self.setting.pad)))
        found.positions_where(stream, marks, lambda _, row, column: int(labels[row, column]))

    def _wrong(self, stream: Stream) -> tuple[Marks | None, Any]:
        """Return where padding counts. A target text that differs from the input has its own padding."""
        labels = stream.ids_of_labels
        if labels is None:
            return self._in_labels(stream)
        wrong = stream.padding & stream.counted
        agreement = Agreement()
        agreement.add(stream.ids, labels, stream.tokens, stream.counted)
        filled = bool((wrong == stream.padding).all()) and len(np.unique(labels[wrong])) == 1
        if not wrong.any() or agreement.offset is not None or filled:
            return wrong, labels
        return self._in_labels(stream)

    def _in_labels(self, stream: Stream) -> tuple[Marks | None, Any]:
        """Return where the labels end in padding of their own."""
        assert stream.labels is not None
        labels = stream.labels.values
        if self.setting.pad is None or labels.ndim != 2 or labels.dtype.kind not in "iu" or stream.setting.shared:
            return None, None
        if labels.shape[1] < 3 or int(labels.max(initial=0)) <= 1 or stream.weights is not None:
            return None, None  # classes, not tokens
        there = stream.labels.grid.marks()
        trail = edges((labels == self.setting.pad) & there, there)[1]
        return (trail, labels) if (trail.sum(axis=1) > 1).any() else (None, None)

    def judge(self, name: str, found: Found) -> Iterator[Violation]:
        if not found.broken:
            return
        ignore, pad = self.setting.ignore, self.setting.pad
        certain = self.setting.together or bool(self.setting.causal) or found.notes["other"] > 0
        change = f"Set labels there to {ignore}, or sample_weight to 0."
        if not certain:
            change += f" Where the loss leaves {pad} out (mask_zero, ignore_class={pad}), say ignore={pad}."
        yield Violation(
            "loss-padding", name, f"{ignore} or sample_weight 0 where there is padding",
            f"labels that count, {in_rows(found.rows, found.of_rows)}", change=change,
            severity=self.setting.of_padding if certain else "warning", **found.told(),
        )  # fmt: skip


CHECK = LossPadding
