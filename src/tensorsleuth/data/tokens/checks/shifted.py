"""Labels of a model that predicts the next token: moved by one, once, in the right direction, by one of the two."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.violation import Remark, Violation
from tensorsleuth.data.tokens.batch import Stream
from tensorsleuth.data.tokens.check import Found, LabelCheck
from tensorsleuth.data.tokens.shift import Agreement
from tensorsleuth.data.tokens.wording import row_begins

IS_ONE = "label t is token t + 1"
WORDS = {0: "label t is token t", 1: IS_ONE, 2: "label t is token t + 2", -1: "label t is token t - 1"}


class Shifted(LabelCheck):
    def wants(self, stream: Stream) -> bool:
        return super().wants(stream) and self.setting.causal is not False and stream.ids_of_labels is not None

    def look(self, found: Found, stream: Stream) -> None:
        assert stream.ids_of_labels is not None
        agreement = found.notes.setdefault("agreement", Agreement())
        agreement.add(stream.ids, stream.ids_of_labels, stream.tokens, stream.counted)
        found.notes.setdefault("first", row_begins(stream, 0) if len(stream.ids) else Remark(""))

    def judge(self, name: str, found: Found) -> Iterator[Violation]:
        agreement: Agreement = found.notes["agreement"]
        offset = agreement.offset
        if offset is None or agreement.unclear:
            return
        told = self._told(offset)
        if told is not None:
            severity, expected, change = told
            share = f"{WORDS[offset]}, in {agreement.same[offset]:,} of {agreement.total[offset]:,} positions"
            yield Violation("labels-shift", name, expected, share, change=change, severity=severity)

    def _told(self, offset: int) -> tuple[str, str, str] | None:
        by = self.setting.shifted_by
        sure = "error" if by is not None or self.setting.causal else "warning"
        if offset == 0:
            return self._not_moved() if by != "model" else None
        if offset == 1:
            return self._moved() if by != "data" else None
        if offset == 2:
            return sure, IS_ONE, "The labels are shifted twice: remove one ids[:, 1:]."
        return sure, IS_ONE, "The labels are shifted the wrong way: use labels = ids[:, 1:] and inputs = ids[:, :-1]."

    def _not_moved(self) -> tuple[str, str, str] | None:
        if self.setting.shifted_by == "data":
            change = "The model sees the answer: give it ids[:, :-1], with the labels ids[:, 1:]."
            return "error", IS_ONE, change
        change = (
            'Correct if the model shifts the labels (Hugging Face: shifted_by="model"); otherwise it sees the answer.'
        )
        return "note", f"{IS_ONE}, or a model that shifts the labels", change

    def _moved(self) -> tuple[str, str, str] | None:
        if self.setting.shifted_by == "model":
            change = "The model shifts them again, and learns to predict two tokens ahead: give it labels = ids."
            return "error", f"{WORDS[0]}: the model shifts them", change
        if self.setting.together:
            change = 'Correct if the loss is your own (shifted_by="data"); Hugging Face models shift the labels again.'
            return "note", f"{WORDS[0]}, beside input_ids", change
        return None


CHECK = Shifted
