"""Finds characters that no text should have: control characters, and replacements of undecodable bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import replace

from tensorsleuth.core.texts import REPLACEMENT_CHARACTER, STRAY_CHARACTERS, excerpt, list_characters
from tensorsleuth.core.violation import ValueNote, Violation
from tensorsleuth.data.check import DATA
from tensorsleuth.data.tally import MAX_EXAMPLES
from tensorsleuth.data.tokens.batch import NamedGrid, TokenBatch
from tensorsleuth.data.tokens.check import TokenCheck, TokenTally
from tensorsleuth.data.tokens.settings import TokenSettings

MAX_WARNING_SHARE = 0.01  # of the rows: below this, a warning


class StrayCharactersCheck(TokenCheck):
    def __init__(self, token_settings: TokenSettings) -> None:
        super().__init__(token_settings)
        self._found: dict[tuple[str, str], TokenTally] = {}
        self._kinds: dict[tuple[str, str], Counter[str]] = {}

    def see(self, token_batch: TokenBatch) -> None:
        for text in token_batch.texts:
            key = token_batch.part, text.name
            self._look(
                self._found.setdefault(key, TokenTally()),
                self._kinds.setdefault(key, Counter()),
                text,
                token_batch.start,
            )

    def _look(self, token_tally: TokenTally, kinds: Counter[str], text: NamedGrid, start: int) -> None:
        flat = text.values.reshape(-1).tolist()
        token_tally.total += len(flat)
        each = max(1, len(flat) // max(1, len(text.values)))
        for place, one in enumerate(flat):
            written = one.decode("utf-8", "replace") if isinstance(one, bytes) else one
            stray = STRAY_CHARACTERS.findall(written) if isinstance(written, str) else []
            if stray:
                token_tally.broken += 1
                kinds.update(stray)
                if len(token_tally.positions) < MAX_EXAMPLES:
                    token_tally.positions.append((start + place // each,))
                    token_tally.values.append(ValueNote(excerpt(written)))

    def end(self) -> Iterator[Violation]:
        for (part, name), found in self._found.items():
            if found.broken:
                told = self._violation(name, found, self._kinds[part, name])
                yield told if part == DATA else replace(told, where=part)

    def _violation(self, name: str, token_tally: TokenTally, kinds: Counter[str]) -> Violation:
        change = change_for(kinds)
        return Violation(
            "stray-characters",
            name,
            "text without control characters",
            f"rows with {list_characters(kinds)}",
            change=change,
            severity="warning" if token_tally.broken < MAX_WARNING_SHARE * token_tally.total else "error",
            **token_tally.violation_fields(),
        )


def change_for(kinds: Container[str]) -> str:
    if REPLACEMENT_CHARACTER in kinds:
        return "The bytes were decoded wrongly: read the source again in its own encoding."
    return "Strip them before the tokenizer: each becomes an unknown token, or one of its own."


CHECK = StrayCharactersCheck
