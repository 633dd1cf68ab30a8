"""Special tokens, by the tokenizer's ids: put there twice, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.batch import Stream
from tensorsleuth.data.tokens.check import Found, StreamCheck
from tensorsleuth.data.tokens.wording import row_begins, row_ends

ROWS = 2  # to say that all rows lack one


class SpecialTokens(StreamCheck):
    """Looks at the first two tokens of each row and at the last two."""

    def wants(self, stream: Stream) -> bool:
        return stream.ids.shape[1] > 1 and not stream.decoder and bool(self.setting.vocabulary.specials)

    def look(self, found: Found, stream: Stream) -> None:
        rows = np.flatnonzero(stream.tokens.sum(axis=1) > 1)
        first, second, last, before = (place[rows] for place in _edges(stream))
        notes, vocabulary = found.notes, self.setting.vocabulary
        notes["rows"] = notes.get("rows", 0) + len(rows)
        notes["padded"] = notes.get("padded", False) or bool(stream.padding.any())
        notes["classes"] = stream.labels is not None and stream.ids_of_labels is None
        notes["inside"] = notes.get("inside", False) or bool((stream.ids[:, 2:] == vocabulary.starts).any())
        notes["turned"] = notes.get("turned", 0) + int(np.count_nonzero(last == vocabulary["cls"]))  # as XLNet has it
        starts, ends = first == vocabulary.starts, last == vocabulary.ends
        _keep(notes, "start absent", stream, rows[~starts])
        _keep(notes, "start twice", stream, rows[starts & (first == second)])
        _keep(notes, "end absent", stream, rows[~ends])
        _keep(notes, "end twice", stream, rows[ends & (last == before)])

    def judge(self, name: str, found: Found) -> Iterator[Violation]:
        vocabulary = self.setting.vocabulary
        for which, number in (("start", vocabulary.starts), ("end", vocabulary.ends)):
            if number is None or number == self.setting.pad:
                continue
            # Where they are the same, two of them are the end of one text and the start of another.
            if vocabulary.starts != vocabulary.ends:
                yield from self._twice(name, which, found, vocabulary.word(number))
            yield from self._absent(name, which, found, vocabulary.word(number))

    def _twice(self, name: str, which: str, found: Found, word: str) -> Iterator[Violation]:
        twice: Found = found.notes[f"{which} twice"]
        if twice.broken:
            yield Violation(
                "special-doubled", name, f"{word} once at the {which}", f"rows that {which} with it twice",
                change="The tokenizer adds it, and the text has it already: leave one out (add_special_tokens=False).",
                **twice.told(),
            )  # fmt: skip

    def _absent(self, name: str, which: str, found: Found, word: str) -> Iterator[Violation]:
        absent: Found = found.notes[f"{which} absent"]
        severity = self._severity(which, absent.broken, found)
        if severity is not None:
            where = "no row has it" if absent.broken == found.notes["rows"] else "rows without it"
            told = absent.told() | {"total": found.notes["rows"]}
            yield Violation(
                "special-missing", name, f"{word} at the {which} of every row", where, severity=severity,
                change=f"Let the tokenizer add it (add_special_tokens=True), or do it: the model {_learns(which)}.",
                **told,
            )  # fmt: skip

    def _severity(self, which: str, absent: int, found: Found) -> str | None:
        """Models with a CLS token are always given it. Others may do without; packed rows begin and end anywhere."""
        notes, vocabulary = found.notes, self.setting.vocabulary
        rows = notes["rows"]
        if rows < ROWS or not absent or notes["turned"] == rows:
            return None
        if vocabulary["cls"] is not None:
            if absent == rows:  # where <s> is both, a code of the language may stand in its place
                return "error" if vocabulary["cls"] != vocabulary["bos"] else "warning"
            return "error" if which == "start" else "warning" if absent > rows / 2 else None
        whole_texts = notes["padded"] and not notes["inside"] and not notes["classes"]
        return "warning" if whole_texts and absent == rows and which == "end" else None


def _keep(notes: dict[str, Any], what: str, stream: Stream, rows: npt.NDArray[np.int_]) -> None:
    wrong = np.zeros(len(stream.ids), bool)
    wrong[rows] = True
    told = row_begins if what.startswith("start") else row_ends
    notes.setdefault(what, Found()).rows_where(stream, wrong, told)


def _learns(which: str) -> str:
    return "never learns to stop" if which == "end" else "was trained with it"


def _edges(stream: Stream) -> tuple[npt.NDArray[np.int64], ...]:
    """The first, second, last and last but one token of each row, padding left out."""
    real = stream.tokens
    rows, width = np.arange(len(real)), real.shape[1]
    first, last = np.argmax(real, axis=1), width - 1 - np.argmax(real[:, ::-1], axis=1)
    places = (first, np.minimum(first + 1, width - 1), last, np.maximum(last - 1, 0))
    return tuple(stream.ids[rows, place] for place in places)


CHECK = SpecialTokens
