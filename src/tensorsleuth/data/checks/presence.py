"""Checks that every feature of the schema is present, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.block import Block
from tensorsleuth.data.check import DATA, DataCheck


class PresenceCheck(DataCheck):
    parts = ()  # the columns are known before reading

    def see(self, block: Block) -> None:
        pass

    def end(self) -> Iterator[Violation]:
        for part in self.case.parts if self.case.schema is not None else ():
            names = [column.name for column in self.case.columns[part]]
            yield from self._absent(part, names)
            yield from self._strange(part, names)

    def _absent(self, part: str, names: list[str]) -> Iterator[Violation]:
        assert self.case.schema is not None
        there = ", ".join(names)
        for name, feature in self.case.schema.items():
            if name not in names and not feature.optional:
                change = "Rename it in the data or in the schema, or say optional = true."
                found = f"no {name}; there is {there}"
                yield Violation(
                    "presence", name, f"a feature {name}", found, change=change, where=None if part == DATA else part
                )

    def _strange(self, part: str, names: list[str]) -> Iterator[Violation]:
        assert self.case.schema is not None
        for name in names:
            if name not in self.case.schema:
                yield Violation(
                    "presence", name, "features of the schema", "a feature that the schema lacks",
                    change="It is not checked: add it to the schema, or leave it out of the data.",
                    severity="warning", where=None if part == DATA else part,
                )  # fmt: skip


CHECK = PresenceCheck
