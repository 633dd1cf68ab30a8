"""The interface of a check: it sees every block once, in order, and reports at the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.block import Block, Column, Piece
from tensorsleuth.data.feature import Feature, Label
from tensorsleuth.data.schema import Schema
from tensorsleuth.data.tally import Tally

DATA, VALIDATION, AGAINST = "data", "validation", "against"
LABEL_NAMES = frozenset({"y", "label", "labels", "target", "targets", "class"})


@dataclass
class CheckContext:
    """The facts before reading: the schema, if any, and the columns of each part under the schema's names."""

    schema: Schema | None
    columns: dict[str, tuple[Column, ...]]
    _features: dict[str, Feature | None] = field(default_factory=dict)

    def feature(self, name: str) -> Feature | None:
        """Return the schema's feature of a column; None if the schema does not have it."""
        if name not in self._features:
            implied = Label() if name.rpartition("/")[2].lower() in LABEL_NAMES else Feature()
            self._features[name] = implied if self.schema is None else self.schema.get(name)
        return self._features[name]

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.columns)

    def hashes_rows(self, part: str) -> bool:
        """Return whether rows of that part are compared."""
        asked = self.schema is None or self.schema.duplicates is None or self.schema.duplicates < 1
        return part != AGAINST and (VALIDATION in self.parts or (part == DATA and asked))

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns that every part has and that are not labels. Rows that agree in these are duplicates."""
        known = [{column.name for column in columns} for part, columns in self.columns.items() if part != AGAINST]
        named = [column.name for column in self.columns[DATA] if all(column.name in names for names in known)]
        return tuple(name for name in named if not isinstance(self.feature(name), Label)) or tuple(named)


class DataCheck:
    """The base of all checks. `parts` lists the parts of the data that it sees."""

    parts: tuple[str, ...] = (DATA, VALIDATION)

    def __init__(self, check_context: CheckContext) -> None:
        self.case = check_context

    def see(self, block: Block) -> None:
        raise NotImplementedError

    def end(self) -> Iterator[Violation]:
        raise NotImplementedError


class FeatureCheck(DataCheck):
    """A check of one feature at a time, with a state for each feature of each part."""

    def __init__(self, check_context: CheckContext) -> None:
        super().__init__(check_context)
        self._states: dict[tuple[str, str], Any] = {}

    def see(self, block: Block) -> None:
        for name, piece in block.pieces.items():
            feature = self.case.feature(name)
            if feature is not None and self.wants(feature, piece):
                key = block.part, name
                if key not in self._states:
                    self._states[key] = self.new_state(feature, piece)
                self.inspect(self._states[key], feature, piece)

    def end(self) -> Iterator[Violation]:
        for (part, name), state in self._states.items():
            feature = self.case.feature(name)
            assert feature is not None
            for violation in self.judge(name, feature, state):
                yield violation if part == DATA else replace(violation, where=part)

    def wants(self, feature: Feature, piece: Piece) -> bool:
        """Return whether there is anything to look for."""
        return True

    def new_state(self, feature: Feature, piece: Piece) -> Any:
        """Return the state of a feature, from its first piece on."""
        return Tally()

    def inspect(self, state: Any, feature: Feature, piece: Piece) -> None:
        raise NotImplementedError

    def judge(self, name: str, feature: Feature, state: Any) -> Iterator[Violation]:
        raise NotImplementedError
