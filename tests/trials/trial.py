"""Blind trials on public programs: the verdicts noted beside the truth, and how often which confidence was right."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
PAGE = FOLDER.parents[1] / "docs" / "why.md"
LINES = ("exact", "near", "wrong", "none")  # near: in the same statement or function, or one hop away
CAUSES = ("right", "half", "wrong", "none")
KINDS = {
    "nan": "values go NaN or infinite",
    "crash": "crashes",
    "silent": "silent: no learning, a leak, a broadcast, a mask",
    "healthy": "healthy",
}
VERDICTS = ("problem", "healthy", "unclear")
LEVELS = ("high", "medium", "low")  # how the terminal's line "Confidence" begins
BEGIN, END = "<!-- trials: written by `python -m tests.trials` -->", "<!-- end of the trials -->"


@dataclass(frozen=True)
class Trial:
    """One program: what was wrong with it, noted before it was watched, and the verdict."""

    round: int
    program: str  # owner/repository, and the path in it
    kind: str
    bug: str  # what was changed in the program, in one sentence; empty for a healthy one
    verdict: str
    told: str  # the first finding, in a few words
    line: str
    cause: str
    confidence: str | None  # of the first finding; None without one

    def __post_init__(self) -> None:
        wrong = [
            f"{name} is {value!r}, expected one of {allowed}"
            for name, value, allowed in (
                ("kind", self.kind, tuple(KINDS)),
                ("verdict", self.verdict, VERDICTS),
                ("line", self.line, LINES),
                ("cause", self.cause, CAUSES),
                ("confidence", self.confidence, (*LEVELS, None)),
            )
            if value not in allowed
        ]
        if wrong:
            raise ValueError(f"{self.program}: {'; '.join(wrong)}")

    @property
    def is_right(self) -> bool:
        """Return whether the first finding names the line, or the statement that holds it, and the cause."""
        return self.kind != "healthy" and self.line in ("exact", "near") and self.cause == "right"


def load() -> list[Trial]:
    """Return the trials of all rounds that are kept."""
    paths = sorted(FOLDER.glob("round_*.json"))
    return [Trial(**one) for path in paths for one in json.loads(path.read_text())]


def tables(trials: Iterable[Trial]) -> str:
    """Return the tables of docs/why.md: each round by kind, and all rounds by confidence."""
    trials = list(trials)
    if not trials:
        return "No trial is kept yet.\n"
    return "\n".join([*_kinds(trials), "", *_confidences(trials), ""])


def with_tables(page: str, trials: Iterable[Trial]) -> str:
    """Return a page with the tables between its two marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no place for the tables: it needs the lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{tables(trials)}{END}{after}"


def _kinds(trials: list[Trial]) -> list[str]:
    rows = ["| round | programs | told as a problem | line exact / near / wrong | cause right / half / wrong |"]
    rows.append("|---|---|---|---|---|")
    for number in sorted({one.round for one in trials}):
        for kind, words in KINDS.items():
            some = [one for one in trials if one.round == number and one.kind == kind]
            if some:
                rows.append(_kind(number, f"{words} ({len(some)})", some, kind == "healthy"))
    return rows


def _kind(number: int, words: str, trials: list[Trial], healthy: bool) -> str:
    told = sum(one.verdict == "problem" for one in trials)
    lines = " / ".join(str(sum(one.line == value for one in trials)) for value in LINES[:3])
    causes = " / ".join(str(sum(one.cause == value for one in trials)) for value in CAUSES[:3])
    return f"| {number} | {words} | {told} | {'' if healthy else lines} | {'' if healthy else causes} |"


def _confidences(trials: list[Trial]) -> list[str]:
    rows = ["| confidence of the first finding | findings | right line and cause |", "|---|---|---|"]
    for level in LEVELS:
        some = [one for one in trials if one.confidence == level]
        right = sum(one.is_right for one in some)
        rows.append(f"| {level} | {len(some)} | {f'{right} ({100 * right / len(some):.0f} %)' if some else ''} |")
    return rows
