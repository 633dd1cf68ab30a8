"""Tokens in words, a few at a time."""

from __future__ import annotations

from tensorsleuth.core.violation import ValueNote
from tensorsleuth.data.tokens.batch import TokenStream

TOKENS_BESIDE = 2  # on each side of the token
TOKENS_SHOWN = 6  # of a row


def token_text(token_stream: TokenStream, row: int, column: int) -> ValueNote:
    """Return the token at a position: `'cat'`, or its id."""
    number = int(token_stream.ids[row, column])
    vocabulary = token_stream.setting.vocabulary
    return ValueNote(f"{number} {vocabulary.word(number)!r}" if vocabulary.has_words else str(number))


def token_in_row(token_stream: TokenStream, row: int, column: int) -> ValueNote:
    """Return the id, with the tokens around it if they have words: `31000 in 'the cat <31000> sat'`."""
    number = int(token_stream.ids[row, column])
    if not token_stream.setting.vocabulary.has_words:
        return ValueNote(str(number))
    around = slice(max(0, column - TOKENS_BESIDE), column + TOKENS_BESIDE + 1)
    return ValueNote(f"{number} in {_joined(token_stream, row, around)!r}")


def row_start_text(token_stream: TokenStream, row: int, first: int = 0) -> ValueNote:
    """Return the first few tokens of a row."""
    more = " …" if token_stream.ids.shape[1] > first + TOKENS_SHOWN else ""
    return ValueNote(_joined(token_stream, row, slice(first, first + TOKENS_SHOWN)) + more)


def row_end_text(token_stream: TokenStream, row: int) -> ValueNote:
    """Return the last few tokens of a row, without padding."""
    last = int(token_stream.tokens[row].nonzero()[0].max(initial=0)) + 1
    first = max(0, last - TOKENS_SHOWN)
    return ValueNote(("… " if first else "") + _joined(token_stream, row, slice(first, last)))


def _joined(token_stream: TokenStream, row: int, columns: slice) -> str:
    there = token_stream.present[row, columns]
    return " ".join(token_stream.setting.vocabulary.word(int(one)) for one in token_stream.ids[row, columns][there])


def rows_text(rows: int, total: int) -> str:
    """Return a text such as `in 3 of 32 rows`."""
    return f"in {rows:,} of {total:,} row{'s' * (total != 1)}"
