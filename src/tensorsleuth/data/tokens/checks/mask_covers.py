"""Tokens that the mask covers: the model never reads them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.batch import Stream
from tensorsleuth.data.tokens.check import Found, MaskCheck
from tensorsleuth.data.tokens.checks.mask_inverted import is_inverted, mask_counts
from tensorsleuth.data.tokens.wording import in_rows, one_token


class MaskCovers(MaskCheck):
    def look(self, found: Found, stream: Stream) -> None:
        assert stream.kept is not None
        wrong = stream.tokens & ~stream.kept
        found.total += int(np.count_nonzero(stream.tokens))
        if wrong.any() and is_inverted(*mask_counts(stream)):
            wrong[:] = False  # that is told once
        found.notes["kept"] = found.notes.get("kept", 0) + int(np.count_nonzero(stream.kept))
        found.positions_where(stream, wrong, one_token)

    def judge(self, name: str, found: Found) -> Iterator[Violation]:
        if not found.broken:
            return
        everything = not found.notes["kept"]
        sure = everything or self.setting.pad_by in ("given", "tokenizer", "mask")
        yield Violation(
            "mask-covers", name, "1 where there is a token",
            "0 everywhere" if everything else f"tokens with 0, {in_rows(found.rows, found.of_rows)}",
            severity="error" if sure else "warning",
            change="Nothing is left to read: was the mask made of another array?" if everything
            else "Make the mask of the same ids, after truncation; where these are padding as well, say pad=ID.",
            **found.told(),
        )  # fmt: skip


CHECK = MaskCovers
