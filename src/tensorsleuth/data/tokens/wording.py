"""Tokens in words, a few at a time."""

from __future__ import annotations

from tensorsleuth.core.violation import Remark
from tensorsleuth.data.tokens.batch import Stream

BESIDE = 2  # tokens on each side of the one that is meant
FEW = 6  # tokens of a row


def one_token(stream: Stream, row: int, column: int) -> Remark:
    """The token at a position: `'cat'`, or its id."""
    number = int(stream.ids[row, column])
    vocabulary = stream.setting.vocabulary
    return Remark(f"{number} {vocabulary.word(number)!r}" if vocabulary.worded else str(number))


def in_its_row(stream: Stream, row: int, column: int) -> Remark:
    """The id, with the tokens around it where they have words: `31000 in 'the cat <31000> sat'`."""
    number = int(stream.ids[row, column])
    if not stream.setting.vocabulary.worded:
        return Remark(str(number))
    around = slice(max(0, column - BESIDE), column + BESIDE + 1)
    return Remark(f"{number} in {_joined(stream, row, around)!r}")


def row_begins(stream: Stream, row: int, first: int = 0) -> Remark:
    """The first few tokens of a row."""
    more = " …" if stream.ids.shape[1] > first + FEW else ""
    return Remark(_joined(stream, row, slice(first, first + FEW)) + more)


def row_ends(stream: Stream, row: int) -> Remark:
    """The last few tokens of a row, padding left out."""
    last = int(stream.tokens[row].nonzero()[0].max(initial=0)) + 1
    first = max(0, last - FEW)
    return Remark(("… " if first else "") + _joined(stream, row, slice(first, last)))


def _joined(stream: Stream, row: int, columns: slice) -> str:
    there = stream.there[row, columns]
    return " ".join(stream.setting.vocabulary.word(int(one)) for one in stream.ids[row, columns][there])


def in_rows(rows: int, total: int) -> str:
    """`in 3 of 32 rows`"""
    return f"in {rows:,} of {total:,} row{'s' * (total != 1)}"
