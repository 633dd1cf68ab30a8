"""The interface of a token check: it sees every batch once, in order, and reports at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.check import DATA
from tensorsleuth.data.tally import MAX_EXAMPLES, Tally
from tensorsleuth.data.tokens.batch import TokenBatch, TokenStream
from tensorsleuth.data.tokens.settings import TokenSettings

DescribeToken = Callable[[TokenStream, int, int], Any]


class TokenCheck:
    """The base of all checks."""

    def __init__(self, token_settings: TokenSettings) -> None:
        self.setting = token_settings

    def see(self, token_batch: TokenBatch) -> None:
        raise NotImplementedError

    def end(self) -> Iterator[Violation]:
        raise NotImplementedError


class TokenTally(Tally):
    """The number of wrong positions or rows, of affected rows, and the first few of them."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = 0  # rows with a wrong position
        self.of_rows = 0
        self.notes: dict[str, Any] = {}  # further results of a check

    def positions_where(
        self, token_stream: TokenStream, wrong: npt.NDArray[np.bool_], describe_token: DescribeToken
    ) -> None:
        """Add wrong positions, each with a description from `tell(stream, row, column)`."""
        self.of_rows += len(wrong)
        self.broken += int(np.count_nonzero(wrong))
        self.rows += int(np.count_nonzero(wrong.any(axis=1))) if wrong.size else 0
        for row, column in np.argwhere(wrong)[: MAX_EXAMPLES - len(self.positions)]:
            self.positions.append(token_stream.position_of(int(row), int(column)))
            self.values.append(describe_token(token_stream, int(row), int(column)))

    def rows_where(
        self, token_stream: TokenStream, wrong: npt.NDArray[np.bool_], tell: Callable[[TokenStream, int], Any]
    ) -> None:
        """Add rows that are wrong as a whole."""
        self.total += len(wrong)
        self.broken += int(np.count_nonzero(wrong))
        for row in np.flatnonzero(wrong)[: MAX_EXAMPLES - len(self.positions)]:
            self.positions.append(token_stream.position_of(int(row)))
            self.values.append(tell(token_stream, int(row)))


class StreamCheck(TokenCheck):
    """A check of one stream at a time, with a tally for each stream of each part."""

    def __init__(self, token_settings: TokenSettings) -> None:
        super().__init__(token_settings)
        self._found: dict[tuple[str, str], TokenTally] = {}

    def see(self, token_batch: TokenBatch) -> None:
        for stream in token_batch.streams:
            if self.wants(stream):
                self.inspect(self._found.setdefault((token_batch.part, self.subject(stream)), TokenTally()), stream)

    def end(self) -> Iterator[Violation]:
        for (part, name), found in self._found.items():
            for violation in self.judge(name, found):
                yield violation if part == DATA else replace(violation, where=part)

    def wants(self, token_stream: TokenStream) -> bool:
        """Return whether there is anything to look for."""
        return True

    def subject(self, token_stream: TokenStream) -> str:
        """Return the subject of the finding, in the user's words."""
        return token_stream.name

    def inspect(self, token_tally: TokenTally, token_stream: TokenStream) -> None:
        raise NotImplementedError

    def judge(self, name: str, token_tally: TokenTally) -> Iterator[Violation]:
        raise NotImplementedError


class FormCheck(TokenCheck):
    """A check of types or shapes: one finding for each part of the batch, from the first batch that shows it."""

    def __init__(self, token_settings: TokenSettings) -> None:
        super().__init__(token_settings)
        self._reported: dict[tuple[str, str], Violation] = {}

    def see(self, token_batch: TokenBatch) -> None:
        for one in self.violations_in(token_batch):
            if one is not None:
                self._reported.setdefault((token_batch.part, one.name), one)

    def end(self) -> Iterator[Violation]:
        for (part, _), violation in self._reported.items():
            yield violation if part == DATA else replace(violation, where=part)

    def violations_in(self, token_batch: TokenBatch) -> Iterator[Violation | None]:
        raise NotImplementedError


class MaskCheck(StreamCheck):
    """A check of the mask of a stream, where it has one for each position."""

    def wants(self, token_stream: TokenStream) -> bool:
        return token_stream.kept_by_mask is not None

    def subject(self, token_stream: TokenStream) -> str:
        assert token_stream.mask is not None
        return token_stream.mask.name


class LabelCheck(StreamCheck):
    """A check of the labels of a stream."""

    def wants(self, token_stream: TokenStream) -> bool:
        return token_stream.labels is not None and not token_stream.labels.grid.text

    def subject(self, token_stream: TokenStream) -> str:
        assert token_stream.labels is not None
        return token_stream.labels.name
