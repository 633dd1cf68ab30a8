"""Finds padding that the mask does not cover: the model reads it as text."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.batch import TokenStream
from tensorsleuth.data.tokens.check import MaskCheck, TokenTally
from tensorsleuth.data.tokens.checks.mask_inverted import is_inverted, mask_counts
from tensorsleuth.data.tokens.token_texts import rows_text, token_text


class MaskOpenCheck(MaskCheck):
    def inspect(self, token_tally: TokenTally, token_stream: TokenStream) -> None:
        assert token_stream.kept_by_mask is not None
        token_tally.total += int(np.count_nonzero(token_stream.padding))
        wrong = token_stream.padding & token_stream.kept_by_mask
        if wrong.any() and is_inverted(*mask_counts(token_stream)):
            wrong[:] = False  # another check reports this
        token_tally.positions_where(token_stream, wrong, token_text)

    def judge(self, name: str, token_tally: TokenTally) -> Iterator[Violation]:
        if token_tally.broken:
            yield Violation(
                "mask-open",
                name,
                f"0 where there is padding (id {self.setting.pad})",
                f"padding with 1, {rows_text(token_tally.rows, token_tally.of_rows)}",
                severity=self.setting.padding_severity,
                change=f"Compute the mask after padding: ids != {self.setting.pad}.",
                **token_tally.violation_fields(),
            )


CHECK = MaskOpenCheck
