"""Finds data in which most samples were truncated: what a label is about may be lost with their ends."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.batch import TokenStream
from tensorsleuth.data.tokens.check import StreamCheck, TokenTally
from tensorsleuth.data.tokens.token_texts import row_end_text

MIN_ROWS = 4  # needed for a verdict
MAX_CUT_SHARE = 0.5


class TruncatedCheck(StreamCheck):
    """Rows without padding that lack the end token of other rows, or that all have the maximum length."""

    def inspect(self, token_tally: TokenTally, token_stream: TokenStream) -> None:
        notes = token_tally.notes
        full, ends = token_stream.all_tokens, self._ended(token_stream)
        cut = np.asarray(full & ~ends)
        notes["packed"] = notes.get("packed", False) or self._packed(token_stream)
        notes["longest"] = max(notes.get("longest", 0), token_stream.ids.shape[1])
        for name, marks in (("full", full), ("cut", cut), ("ended", ends)):
            notes[name] = notes.get(name, 0) + int(np.count_nonzero(marks))
        token_tally.rows_where(token_stream, cut if self.setting.vocabulary.end_id is not None else full, row_end_text)

    def _ended(self, token_stream: TokenStream) -> npt.NDArray[np.bool_]:
        """Return which rows have the end token as their last one."""
        end = self.setting.vocabulary.end_id
        if end is None or not token_stream.ids.size:
            return np.zeros(len(token_stream.ids), bool)
        last = token_stream.ids.shape[1] - 1 - np.argmax(token_stream.tokens[:, ::-1], axis=1)
        return np.asarray(token_stream.ids[np.arange(len(token_stream.ids)), last] == end)

    def _packed(self, token_stream: TokenStream) -> bool:
        """Return whether rows contain several texts: one begins after another token, or ends before one."""
        vocabulary, real = self.setting.vocabulary, ~token_stream.padding
        end = vocabulary["eos"] if vocabulary["sep"] is None else None
        behind, before = np.cumsum(real, axis=1) > 1, np.cumsum(real[:, ::-1], axis=1)[:, ::-1] > 1
        marks = [
            (token_stream.ids == one) & at
            for one, at in ((vocabulary.start_id, behind), (end, before))
            if one is not None
        ]
        return any(bool((mark & real)[:, 1:-1].any()) for mark in marks)

    def judge(self, name: str, token_tally: TokenTally) -> Iterator[Violation]:
        notes, limit = token_tally.notes, self.setting.max_length
        if notes["packed"] or token_tally.total < MIN_ROWS or self.setting.causal:
            return
        longest, severity = notes["longest"], "warning"
        if (
            self.setting.vocabulary.end_id is not None
            and notes["cut"] > MAX_CUT_SHARE * token_tally.total
            and notes["ended"]
        ):
            expected, what = "the end token at the end of most rows", f"rows cut at {longest:,} tokens"
        elif limit is not None and longest >= limit and notes["full"] > MAX_CUT_SHARE * token_tally.total:
            expected, what = f"most rows shorter than {limit:,} tokens", "rows of the maximum length, without padding"
        elif self.setting.vocabulary.end_id is not None and notes["cut"] == token_tally.total:
            expected, what, severity = (
                "the end token at the end of most rows",
                f"rows of {longest:,} tokens without it",
                "note",
            )
        else:
            return
        told = (
            token_tally.violation_fields()
            if token_tally.broken
            else {"broken": notes["full"], "total": token_tally.total}
        )
        change = "Allow longer rows (max_length), or split long texts; if texts are packed into rows, this is intended."
        yield Violation("truncated", name, expected, what, change=change, severity=severity, **told)


CHECK = TruncatedCheck
