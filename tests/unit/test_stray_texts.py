"""What is said of texts that a recording saw come in, without TensorFlow."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tensorsleuth.core.catalog import Catalogue, EagerOp, Frame, Site
from tensorsleuth.core.texts import TextSummary
from tensorsleuth.diagnose.inputs import stray_characters
from tensorsleuth.diagnose.inputs.text_ops import TextOps, matches


def seen(site: int, broken: int = 8, known: int = 0, drawn: bool = False, stray: str = "\x00") -> TextSummary:
    return TextSummary(site, "StringLower", 64, broken, known, drawn, {stray: broken}, ((3, "'a cat\\x00'"),))


def found(*texts: TextSummary, op: str = "StringLower", patterns: tuple[str, ...] = ()) -> list[Any]:
    catalogue = Catalogue(eager={1: EagerOp(1, op, 1, 1, 1)}, texts=dict(enumerate(texts)), patterns={*patterns})
    catalogue.sites = {line: Site(line, (Frame("train.py", line, "main"),), 0) for line in range(1, 9)}
    process = SimpleNamespace(catalogue=catalogue)
    process.cached = lambda kind: kind(process)
    assert isinstance(process.cached(TextOps), TextOps)
    return list(stray_characters.find(process))  # type: ignore[arg-type]


def test_how_many_of_what_and_where() -> None:
    (told,) = found(seen(4))
    assert told.frame.line == 4 and not told.is_note
    assert "8 of 64 sampled that hold 8 × U+0000 (NUL)" in told.why
    assert told.evidence[0].health == "first in text 3 ('a cat\\x00')"
    assert found(TextSummary(4, "", 4096, 8, 0, False, {"\x00": 8}, ()))[0].is_note


def test_each_source_is_told_once() -> None:
    assert [one.frame.line for one in found(seen(4), seen(5, known=8), seen(6, drawn=True))] == [4]
    assert [one.frame.line for one in found(seen(4), seen(5))] == [4, 5]
    assert [one.frame.line for one in found(seen(4), seen(6, drawn=True, stray="\ufffd"))] == [4, 6]
    assert [one.frame.line for one in found(seen(4), seen(4, stray="\ufeff"))] == [4]


def test_silent_where_nothing_reads_text_or_it_is_taken_out() -> None:
    assert found(seen(4), op="ReadFile") == []
    assert found(seen(4), patterns=(r"[\x00-\x1f]",)) == []
    assert len(found(seen(4), patterns=(r"[.,!?]", r"\s+"))) == 1


@pytest.mark.parametrize(
    ("pattern", "letter", "takes"),
    [
        (r"\p{Cc}|\p{Cf}", "\x00", True),
        (r"\p{Cc}|\p{Cf}", "\ufeff", True),
        (r"\p{Cc}", "\ufffd", False),
        (r"[[:cntrl:]]", "\x07", True),
        (r"\P{L}", "\x07", True),
        (r"[^\p{L}]", "\x07", True),
        (r"[^a-z ]", "\ufffd", True),
        (r"\p{Mn}", "\x07", False),
        (r"\s*", "\x07", False),
        (r"(unfinished", "\x07", True),
        (r"<br ?/>", "\x07", False),
    ],
)
def test_which_patterns_take_a_character(pattern: str, letter: str, takes: bool) -> None:
    assert matches(pattern, letter) is takes
