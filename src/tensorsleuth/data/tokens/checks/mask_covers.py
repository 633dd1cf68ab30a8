"""Finds tokens that the mask covers: the model never reads them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.batch import TokenStream
from tensorsleuth.data.tokens.check import MaskCheck, TokenTally
from tensorsleuth.data.tokens.checks.mask_inverted import is_inverted, mask_counts
from tensorsleuth.data.tokens.token_texts import rows_text, token_text


class MaskCoversCheck(MaskCheck):
    def inspect(self, token_tally: TokenTally, token_stream: TokenStream) -> None:
        assert token_stream.kept_by_mask is not None
        wrong = token_stream.tokens & ~token_stream.kept_by_mask
        token_tally.total += int(np.count_nonzero(token_stream.tokens))
        if wrong.any() and is_inverted(*mask_counts(token_stream)):
            wrong[:] = False  # another check reports this
        token_tally.notes["kept"] = token_tally.notes.get("kept", 0) + int(np.count_nonzero(token_stream.kept_by_mask))
        token_tally.positions_where(token_stream, wrong, token_text)

    def judge(self, name: str, token_tally: TokenTally) -> Iterator[Violation]:
        if not token_tally.broken:
            return
        everything = not token_tally.notes["kept"]
        sure = everything or self.setting.pad_by in ("given", "tokenizer", "mask")
        yield Violation(
            "mask-covers", name, "1 where there is a token",
            "0 everywhere" if everything else f"tokens with 0, {rows_text(token_tally.rows, token_tally.of_rows)}",
            severity="error" if sure else "warning",
            change="Nothing is left to read: was the mask computed from another array?" if everything
            else "Compute the mask from the same ids, after truncation; if these are padding too, pass pad=ID.",
            **token_tally.violation_fields(),
        )  # fmt: skip


CHECK = MaskCoversCheck
