"""Checks the labels of a model that predicts the next token: shifted by one, once, in the right direction."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.violation import ValueNote, Violation
from tensorsleuth.data.tokens.batch import TokenStream
from tensorsleuth.data.tokens.check import LabelCheck, TokenTally
from tensorsleuth.data.tokens.shift import ShiftAgreement
from tensorsleuth.data.tokens.token_texts import row_start_text

SHIFTED_BY_ONE = "label t is token t + 1"
OFFSET_TEXTS = {0: "label t is token t", 1: SHIFTED_BY_ONE, 2: "label t is token t + 2", -1: "label t is token t - 1"}


class LabelShiftCheck(LabelCheck):
    def wants(self, token_stream: TokenStream) -> bool:
        return super().wants(token_stream) and self.setting.causal is not False and token_stream.label_ids is not None

    def inspect(self, token_tally: TokenTally, token_stream: TokenStream) -> None:
        assert token_stream.label_ids is not None
        agreement = token_tally.notes.setdefault("agreement", ShiftAgreement())
        agreement.add(token_stream.ids, token_stream.label_ids, token_stream.tokens, token_stream.counted)
        token_tally.notes.setdefault(
            "first", row_start_text(token_stream, 0) if len(token_stream.ids) else ValueNote("")
        )

    def judge(self, name: str, token_tally: TokenTally) -> Iterator[Violation]:
        agreement: ShiftAgreement = token_tally.notes["agreement"]
        offset = agreement.offset
        if offset is None or agreement.is_ambiguous:
            return
        told = self._judge_offset(offset)
        if told is not None:
            severity, expected, change = told
            share = f"{OFFSET_TEXTS[offset]}, in {agreement.same[offset]:,} of {agreement.total[offset]:,} positions"
            yield Violation("labels-shift", name, expected, share, change=change, severity=severity)

    def _judge_offset(self, offset: int) -> tuple[str, str, str] | None:
        by = self.setting.shifted_by
        sure = "error" if by is not None or self.setting.causal else "warning"
        if offset == 0:
            return self._not_moved() if by != "model" else None
        if offset == 1:
            return self._moved() if by != "data" else None
        if offset == 2:
            return sure, SHIFTED_BY_ONE, "The labels are shifted twice: remove one ids[:, 1:]."
        return (
            sure,
            SHIFTED_BY_ONE,
            "The labels are shifted the wrong way: use labels = ids[:, 1:] and inputs = ids[:, :-1].",
        )

    def _not_moved(self) -> tuple[str, str, str] | None:
        if self.setting.shifted_by == "data":
            change = "The model sees the answer: give it ids[:, :-1], with the labels ids[:, 1:]."
            return "error", SHIFTED_BY_ONE, change
        change = (
            'Correct if the model shifts the labels (Hugging Face: shifted_by="model"); otherwise it sees the answer.'
        )
        return "note", f"{SHIFTED_BY_ONE}, or a model that shifts the labels", change

    def _moved(self) -> tuple[str, str, str] | None:
        if self.setting.shifted_by == "model":
            change = "The model shifts them again, and learns to predict two tokens ahead: give it labels = ids."
            return "error", f"{OFFSET_TEXTS[0]}: the model shifts them", change
        if self.setting.together:
            change = 'Correct if the loss is your own (shifted_by="data"); Hugging Face models shift the labels again.'
            return "note", f"{OFFSET_TEXTS[0]}, beside input_ids", change
        return None


CHECK = LabelShiftCheck
