"""Padding that the mask does not cover: the model reads it as if it were text."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.batch import Stream
from tensorsleuth.data.tokens.check import Found, MaskCheck
from tensorsleuth.data.tokens.checks.mask_inverted import is_inverted, mask_counts
from tensorsleuth.data.tokens.wording import in_rows, one_token


class MaskOpen(MaskCheck):
    def look(self, found: Found, stream: Stream) -> None:
        assert stream.kept is not None
        found.total += int(np.count_nonzero(stream.padding))
        wrong = stream.padding & stream.kept
        if wrong.any() and is_inverted(*mask_counts(stream)):
            wrong[:] = False  # that is told once
        found.positions_where(stream, wrong, one_token)

    def judge(self, name: str, found: Found) -> Iterator[Violation]:
        if found.broken:
            yield Violation(
                "mask-open", name, f"0 where there is padding (id {self.setting.pad})",
                f"padding with 1, {in_rows(found.rows, found.of_rows)}", severity=self.setting.of_padding,
                change=f"Make the mask after padding: ids != {self.setting.pad}.", **found.told(),
            )  # fmt: skip


CHECK = MaskOpen
