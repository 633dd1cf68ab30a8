"""Finds an inverted mask, 1 for padding and 0 for tokens: the model reads only padding."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.batch import TokenStream
from tensorsleuth.data.tokens.check import MaskCheck, TokenTally
from tensorsleuth.data.tokens.token_texts import token_text

MIN_INVERTED_SHARE = 0.9


def is_inverted(tokens: int, tokens_covered: int, padding: int, padding_open: int) -> bool:
    """Return whether most tokens have 0 and most padding has 1."""
    return (
        padding > 0
        and tokens > 0
        and tokens_covered >= MIN_INVERTED_SHARE * tokens
        and padding_open >= MIN_INVERTED_SHARE * padding
    )


def mask_counts(token_stream: TokenStream) -> tuple[int, int, int, int]:
    """Return the numbers of tokens, covered tokens, padding, and uncovered padding."""
    assert token_stream.kept_by_mask is not None
    marks = (
        token_stream.tokens,
        token_stream.tokens & ~token_stream.kept_by_mask,
        token_stream.padding,
        token_stream.padding & token_stream.kept_by_mask,
    )
    tokens, covered, padding, open_ = (int(np.count_nonzero(mark)) for mark in marks)
    return tokens, covered, padding, open_


class MaskInvertedCheck(MaskCheck):
    def inspect(self, token_tally: TokenTally, token_stream: TokenStream) -> None:
        assert token_stream.kept_by_mask is not None
        counts = mask_counts(token_stream)
        if is_inverted(*counts):
            token_tally.positions_where(
                token_stream,
                (token_stream.tokens & ~token_stream.kept_by_mask) | (token_stream.padding & token_stream.kept_by_mask),
                token_text,
            )
        token_tally.total += counts[0] + counts[2]

    def judge(self, name: str, token_tally: TokenTally) -> Iterator[Violation]:
        if token_tally.broken:
            yield Violation(
                "mask-inverted",
                name,
                "1 on tokens and 0 on padding",
                "the mask is inverted",
                change=f"Invert it: 1 - {name.rpartition('/')[2]}, or ids != {self.setting.pad}.",
                **token_tally.violation_fields(),
            )


CHECK = MaskInvertedCheck
