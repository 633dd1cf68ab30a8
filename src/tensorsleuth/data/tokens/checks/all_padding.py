"""Finds rows with nothing but padding: attention over them is NaN, and a mean is wrong."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.batch import TokenStream
from tensorsleuth.data.tokens.check import StreamCheck, TokenTally
from tensorsleuth.data.tokens.token_texts import row_start_text


class AllPaddingCheck(StreamCheck):
    def inspect(self, token_tally: TokenTally, token_stream: TokenStream) -> None:
        empty = token_stream.present.any(axis=1) & (token_stream.padding == token_stream.present).all(axis=1)
        if token_stream.weights is not None:
            empty &= token_stream.counted.any(axis=1)  # rows without weight that fill up the last batch are fine
        token_tally.rows_where(token_stream, empty, row_start_text)

    def judge(self, name: str, token_tally: TokenTally) -> Iterator[Violation]:
        if token_tally.broken:
            yield Violation(
                "all-padding", name, "a token in every row", f"rows of nothing but padding (id {self.setting.pad})",
                change="Drop these rows, or give them sample_weight 0: attention over nothing is NaN or an even mean.",
                severity=self.setting.padding_severity, **token_tally.violation_fields(),
            )  # fmt: skip


CHECK = AllPaddingCheck
