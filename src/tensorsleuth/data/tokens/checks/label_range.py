"""Labels that are no token and not the one that does not count: an error, or NaN where XLA compiles the loss."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.batch import Stream
from tensorsleuth.data.tokens.check import Found, LabelCheck
from tensorsleuth.data.tokens.wording import in_rows


class LabelRange(LabelCheck):
    """The range check of labels for each position; the classes are not known."""

    def wants(self, stream: Stream) -> bool:
        labels = stream.ids_of_labels
        return super().wants(stream) and labels is not None and labels.dtype.kind in "iu"

    def look(self, found: Found, stream: Stream) -> None:
        labels, size = stream.ids_of_labels, self.setting.vocabulary.size
        assert labels is not None
        wrong = stream.counted & ((labels < 0) if size is None else (labels < 0) | (labels >= size))
        if wrong.any():
            wrong &= ~np.isin(labels, stream.ids[stream.there & (stream.ids >= (size or np.inf))])  # told of the ids
        found.total += int(np.count_nonzero(stream.there))
        found.notes.setdefault("seen", set()).update(np.unique(labels[wrong])[:2].tolist())
        found.positions_where(stream, wrong, lambda _, row, column: int(labels[row, column]))

    def judge(self, name: str, found: Found) -> Iterator[Violation]:
        if found.broken:
            size, seen = self.setting.vocabulary.size, sorted(found.notes["seen"])
            expected = f"labels from 0 to {size - 1:,}" if size is not None else "labels of 0 or more"
            change = "Use the ids of the tokenizer that the model was made for."
            if len(seen) == 1 and seen[0] < 0:
                change = f"Where {seen[0]} is the label that does not count, say ignore={seen[0]}, and tell the loss."
            yield Violation(
                "label-range", name, f"{expected}, or {self.setting.ignore}",
                f"others, such as {seen[0]}, {in_rows(found.rows, found.of_rows)}", change=change, **found.told(),
            )  # fmt: skip


CHECK = LabelRange
