"""A mask that says 1 of padding and 0 of tokens: the model reads what is nothing, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.batch import Stream
from tensorsleuth.data.tokens.check import Found, MaskCheck
from tensorsleuth.data.tokens.wording import one_token

MOSTLY = 0.9


def is_inverted(tokens: int, tokens_covered: int, padding: int, padding_open: int) -> bool:
    """Do most tokens have 0 and most padding 1."""
    return padding > 0 and tokens > 0 and tokens_covered >= MOSTLY * tokens and padding_open >= MOSTLY * padding


def mask_counts(stream: Stream) -> tuple[int, int, int, int]:
    """Tokens, those that the mask covers, padding, that which it leaves open."""
    assert stream.kept is not None
    marks = (stream.tokens, stream.tokens & ~stream.kept, stream.padding, stream.padding & stream.kept)
    tokens, covered, padding, open_ = (int(np.count_nonzero(mark)) for mark in marks)
    return tokens, covered, padding, open_


class MaskInverted(MaskCheck):
    def look(self, found: Found, stream: Stream) -> None:
        assert stream.kept is not None
        counts = mask_counts(stream)
        if is_inverted(*counts):
            found.positions_where(stream, (stream.tokens & ~stream.kept) | (stream.padding & stream.kept), one_token)
        found.total += counts[0] + counts[2]

    def judge(self, name: str, found: Found) -> Iterator[Violation]:
        if found.broken:
            yield Violation(
                "mask-inverted", name, "1 on tokens and 0 on padding", "the mask is inverted",
                change=f"Invert it: 1 - {name.rpartition('/')[2]}, or ids != {self.setting.pad}.", **found.told(),
            )  # fmt: skip


CHECK = MaskInverted
