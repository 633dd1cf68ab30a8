"""Finds special tokens, by the tokenizer's ids, that are doubled or missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.batch import TokenStream
from tensorsleuth.data.tokens.check import StreamCheck, TokenTally
from tensorsleuth.data.tokens.token_texts import row_end_text, row_start_text

MIN_ROWS = 2  # needed to say that all rows lack one


class SpecialTokensCheck(StreamCheck):
    """Checks the first two and the last two tokens of each row."""

    def wants(self, token_stream: TokenStream) -> bool:
        return token_stream.ids.shape[1] > 1 and not token_stream.decoder and bool(self.setting.vocabulary.specials)

    def inspect(self, token_tally: TokenTally, token_stream: TokenStream) -> None:
        rows = np.flatnonzero(token_stream.tokens.sum(axis=1) > 1)
        first, second, last, before = (place[rows] for place in _edges(token_stream))
        notes, vocabulary = token_tally.notes, self.setting.vocabulary
        notes["rows"] = notes.get("rows", 0) + len(rows)
        notes["padded"] = notes.get("padded", False) or bool(token_stream.padding.any())
        notes["classes"] = token_stream.labels is not None and token_stream.label_ids is None
        notes["inside"] = notes.get("inside", False) or bool((token_stream.ids[:, 2:] == vocabulary.start_id).any())
        notes["turned"] = notes.get("turned", 0) + int(np.count_nonzero(last == vocabulary["cls"]))  # as in XLNet
        starts, ends = first == vocabulary.start_id, last == vocabulary.end_id
        _keep(notes, "start absent", token_stream, rows[~starts])
        _keep(notes, "start twice", token_stream, rows[starts & (first == second)])
        _keep(notes, "end absent", token_stream, rows[~ends])
        _keep(notes, "end twice", token_stream, rows[ends & (last == before)])

    def judge(self, name: str, token_tally: TokenTally) -> Iterator[Violation]:
        vocabulary = self.setting.vocabulary
        for which, number in (("start", vocabulary.start_id), ("end", vocabulary.end_id)):
            if number is None or number == self.setting.pad:
                continue
            # If both are the same token, two of them end one text and start another.
            if vocabulary.start_id != vocabulary.end_id:
                yield from self._twice(name, which, token_tally, vocabulary.word(number))
            yield from self._absent(name, which, token_tally, vocabulary.word(number))

    def _twice(self, name: str, which: str, token_tally: TokenTally, word: str) -> Iterator[Violation]:
        twice: TokenTally = token_tally.notes[f"{which} twice"]
        if twice.broken:
            yield Violation(
                "special-doubled", name, f"{word} once at the {which}", f"rows that {which} with it twice",
                change="The tokenizer adds it, and the text has it already: leave one out (add_special_tokens=False).",
                **twice.violation_fields(),
            )  # fmt: skip

    def _absent(self, name: str, which: str, token_tally: TokenTally, word: str) -> Iterator[Violation]:
        absent: TokenTally = token_tally.notes[f"{which} absent"]
        severity = self._severity(which, absent.broken, token_tally)
        if severity is not None:
            where = "no row has it" if absent.broken == token_tally.notes["rows"] else "rows without it"
            told = absent.violation_fields() | {"total": token_tally.notes["rows"]}
            yield Violation(
                "special-missing", name, f"{word} at the {which} of every row", where, severity=severity,
                change=f"Let the tokenizer add it (add_special_tokens=True), or add it: the model {_learns(which)}.",
                **told,
            )  # fmt: skip

    def _severity(self, which: str, absent: int, token_tally: TokenTally) -> str | None:
        """Return the severity of a missing token. Models with CLS always get it; others may lack it."""
        notes, vocabulary = token_tally.notes, self.setting.vocabulary
        rows = notes["rows"]
        if rows < MIN_ROWS or not absent or notes["turned"] == rows:
            return None
        if vocabulary["cls"] is not None:
            if absent == rows:  # if <s> is both, a language code may stand in its place
                return "error" if vocabulary["cls"] != vocabulary["bos"] else "warning"
            return "error" if which == "start" else "warning" if absent > rows / 2 else None
        whole_texts = notes["padded"] and not notes["inside"] and not notes["classes"]
        return "warning" if whole_texts and absent == rows and which == "end" else None


def _keep(notes: dict[str, Any], what: str, token_stream: TokenStream, rows: npt.NDArray[np.int_]) -> None:
    wrong = np.zeros(len(token_stream.ids), bool)
    wrong[rows] = True
    told = row_start_text if what.startswith("start") else row_end_text
    notes.setdefault(what, TokenTally()).rows_where(token_stream, wrong, told)


def _learns(which: str) -> str:
    return "never learns to stop" if which == "end" else "was trained with it"


def _edges(token_stream: TokenStream) -> tuple[npt.NDArray[np.int64], ...]:
    """Return the first, second, last and last but one token of each row, without padding."""
    real = token_stream.tokens
    rows, width = np.arange(len(real)), real.shape[1]
    first, last = np.argmax(real, axis=1), width - 1 - np.argmax(real[:, ::-1], axis=1)
    places = (first, np.minimum(first + 1, width - 1), last, np.maximum(last - 1, 0))
    return tuple(token_stream.ids[rows, place] for place in places)


CHECK = SpecialTokensCheck
