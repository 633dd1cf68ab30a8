"""Characters that no text should have: control characters, and what stands for bytes that could not be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator
from dataclasses import replace

from tensorsleuth.core.texts import STRAY, UNREAD, around, listed
from tensorsleuth.core.violation import Remark, Violation
from tensorsleuth.data.check import DATA
from tensorsleuth.data.tally import KEPT
from tensorsleuth.data.tokens.batch import Batch, Named
from tensorsleuth.data.tokens.check import Check, Found
from tensorsleuth.data.tokens.setting import Setting

FEW = 0.01  # of the rows: below this, a warning


class Text(Check):
    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._found: dict[tuple[str, str], Found] = {}
        self._kinds: dict[tuple[str, str], Counter[str]] = {}

    def see(self, batch: Batch) -> None:
        for text in batch.texts:
            key = batch.part, text.name
            self._look(self._found.setdefault(key, Found()), self._kinds.setdefault(key, Counter()), text, batch.start)

    def _look(self, found: Found, kinds: Counter[str], text: Named, start: int) -> None:
        flat = text.values.reshape(-1).tolist()
        found.total += len(flat)
        each = max(1, len(flat) // max(1, len(text.values)))
        for place, one in enumerate(flat):
            written = one.decode("utf-8", "replace") if isinstance(one, bytes) else one
            stray = STRAY.findall(written) if isinstance(written, str) else []
            if stray:
                found.broken += 1
                kinds.update(stray)
                if len(found.positions) < KEPT:
                    found.positions.append((start + place // each,))
                    found.values.append(Remark(around(written)))

    def end(self) -> Iterator[Violation]:
        for (part, name), found in self._found.items():
            if found.broken:
                told = self._told(name, found, self._kinds[part, name])
                yield told if part == DATA else replace(told, where=part)

    def _told(self, name: str, found: Found, kinds: Counter[str]) -> Violation:
        change = change_for(kinds)
        return Violation(
            "stray-characters", name, "text without control characters", f"rows with {listed(kinds)}", change=change,
            severity="warning" if found.broken < FEW * found.total else "error", **found.told(),
        )  # fmt: skip


def change_for(kinds: Container[str]) -> str:
    if UNREAD in kinds:
        return "The bytes were decoded wrongly: read the source again in its own encoding."
    return "Strip them before the tokenizer: each becomes an unknown token, or one of its own."


CHECK = Text
