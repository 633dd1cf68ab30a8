"""Checks labels: every value is a class, every class occurs, and none is rarer than declared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from tensorsleuth.core.violation import Violation, format_value
from tensorsleuth.data.block import Piece
from tensorsleuth.data.check import FeatureCheck
from tensorsleuth.data.checks.categories import is_among, list_choices
from tensorsleuth.data.feature import Feature, Label
from tensorsleuth.data.tally import Tally, plain_value

MAX_CLASSES = 10_000  # that are counted
MAX_LISTED_CLASSES = 5


class ClassCounts(Tally):
    """The count of each class, and of values that are no class."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[Any] = Counter()
        self.one_hot_width = 0  # width of one-hot rows; 0 if they are not one-hot
        self.sums = Tally()


class ClassLabelsCheck(FeatureCheck):
    def wants(self, feature: Feature, piece: Piece) -> bool:
        return (
            isinstance(feature, Label)
            and not piece.ragged
            and (piece.array.dtype.kind in "iubOUST" or _one_hot_width(feature, piece) > 0)
        )

    def new_state(self, feature: Feature, piece: Piece) -> ClassCounts:
        return ClassCounts()

    def inspect(self, state: ClassCounts, feature: Feature, piece: Piece) -> None:
        assert isinstance(feature, Label)
        state.one_hot_width = _one_hot_width(feature, piece)
        if state.one_hot_width:
            self._look_at_hot(state, piece)
        elif piece.array.ndim > 2:  # a class for each pixel: count a part of the samples
            self._count(state, feature, piece, piece.array[:1])
        else:
            self._count(state, feature, piece, piece.array)

    def _count(self, state: ClassCounts, feature: Label, piece: Piece, counted: Any) -> None:
        state.total += piece.array.size
        known = feature.names
        wrong = _outside(piece, feature.classes) if known is not None else _negative(piece)
        state.add(piece, piece.array, wrong if piece.array.dtype.kind in "iub" else wrong & ~piece.missing)
        if len(state.counts) < MAX_CLASSES:
            state.counts.update(count_values(counted))

    def _look_at_hot(self, state: ClassCounts, piece: Piece) -> None:
        sums = piece.array.sum(axis=-1, dtype=np.float64)
        state.sums.total += len(sums)
        state.sums.add(piece, sums, ~(np.abs(sums - 1) < 1e-3))
        values, counts = np.unique(piece.array.argmax(axis=-1), return_counts=True)
        state.counts.update(dict(zip(values.tolist(), counts.tolist())))

    def judge(self, name: str, feature: Feature, state: ClassCounts) -> Iterator[Violation]:
        assert isinstance(feature, Label)
        if state.broken:
            yield self._strange(name, feature, state)
        if state.sums.broken:
            told = state.sums.violation_fields()
            yield Violation(
                "label",
                name,
                "rows that add up to 1",
                "other sums",
                change="Is each row one-hot, or a distribution?",
                **told,
            )
        if not _count_from_one(feature, state):
            yield from self._gaps(name, feature, state)
        yield from self._imbalance(name, feature, state)
        if self.case.schema is None:
            yield from self._from_one(name, state)

    def _from_one(self, name: str, state: ClassCounts) -> Iterator[Violation]:
        """Report classes that begin with 1 without gaps, if the schema declares no classes."""
        known = _implied(state)
        if len(known) > 1 and known[0] == 1 and len(known) == len(state.counts):
            found = f"classes 1 to {known[-1]}, none 0"
            change = f"Losses and metrics of {len(known):,} outputs take 0 to {len(known) - 1}: subtract 1."
            yield Violation("label", name, "classes that count from 0", found, change=change, severity="warning")

    def _strange(self, name: str, feature: Label, state: ClassCounts) -> Violation:
        found = "others, such as " + ", ".join(format_value(one) for one in dict.fromkeys(state.values))
        many = feature.classes if isinstance(feature.classes, int) else None
        expected = (
            f"classes 0 to {many - 1}" if many else list_choices(feature.names) if feature.names else "classes from 0"
        )
        change = "Correct the labels, or change classes in the schema."
        if _count_from_one(feature, state):
            change = "They count from 1: subtract 1."
        return Violation("label", name, expected, found, change=change, **state.violation_fields())

    def _gaps(self, name: str, feature: Label, state: ClassCounts) -> Iterator[Violation]:
        known = feature.names or _implied(state)
        absent = [one for one in known if one not in state.counts and str(one) not in state.counts]
        if absent and state.counts:
            more = ", …" if len(absent) > MAX_LISTED_CLASSES else ""
            which = ", ".join(format_value(one) for one in absent[:MAX_LISTED_CLASSES])
            found = f"no row of class {which}{more} ({len(absent):,} of {len(known):,} classes)"
            change = "Was the data cut or filtered? A class that is never seen is never learned."
            severity = "warning" if self.case.schema is None and len(absent) > len(known) / 2 else "error"
            yield Violation("label-gap", name, "rows of every class", found, change=change, severity=severity)

    def _imbalance(self, name: str, feature: Label, state: ClassCounts) -> Iterator[Violation]:
        expected = feature.balance if feature.balance is not None else 0.01 if self.case.schema is None else 0.0
        known = feature.names
        ranked = [pair for pair in state.counts.most_common() if known is None or pair[0] in known]
        if len(ranked) < 2:
            return
        (most, often), (rare, seldom) = ranked[0], ranked[-1]
        if seldom < expected * often:
            found = f"{seldom:,} of class {format_value(rare)}, {often:,} of class {format_value(most)}"
            change = "Weight the classes (class_weight), or gather more of the rare one."
            severity = "error" if feature.balance is not None else "warning"
            text = f"the rarest class to have {expected:.4g} of the most frequent one or more"
            yield Violation("balance", name, text, found, change=change, severity=severity)


def _count_from_one(feature: Label, state: ClassCounts) -> bool:
    """Return whether there are as many classes as declared, but from 1 on: then none is absent, all are shifted."""
    several = [one for one in state.counts if isinstance(one, int)]
    return isinstance(feature.classes, int) and bool(several) and (min(several), max(several)) == (1, feature.classes)


def count_values(array: Any) -> dict[Any, int]:
    """Return the count of each value, without missing ones."""
    if array.dtype.kind in "iu" and array.size and array.min() >= 0 and array.max() < MAX_CLASSES:
        often = np.bincount(array.reshape(-1).astype(np.int64))
        return {int(value): int(often[value]) for value in np.flatnonzero(often)}
    flat = array[~Piece(array).missing]
    values, counts = np.unique(flat.astype(str) if flat.dtype.kind in "OST" else flat, return_counts=True)
    return dict(zip((plain_value(value) for value in values), counts.tolist()))


def _one_hot_width(feature: Feature, piece: Piece) -> int:
    """Return the number of classes of one-hot rows."""
    if piece.array.ndim != 2 or piece.array.shape[1] < 2 or not piece.numeric:
        return 0
    declared = (
        isinstance(feature, Label) and isinstance(feature.classes, int) and feature.classes == piece.array.shape[1]
    )
    return (
        int(piece.array.shape[1])
        if declared or (isinstance(feature, Label) and feature.classes is None and piece.array.dtype.kind == "f")
        else 0
    )


def _outside(piece: Piece, classes: Any) -> Any:
    if isinstance(classes, int) and piece.array.dtype.kind in "iu":
        return (piece.array < 0) | (piece.array >= classes)
    return ~is_among(piece.array, tuple(range(classes)) if isinstance(classes, int) else classes)


def _negative(piece: Piece) -> Any:
    return piece.array < 0 if piece.array.dtype.kind == "i" else np.zeros(piece.array.shape, bool)


def _implied(state: ClassCounts) -> tuple[Any, ...]:
    """Return the classes between the smallest and largest one, if the schema declares none."""
    numbers = [one for one in state.counts if isinstance(one, int)]
    dense = numbers and len(numbers) == len(state.counts) and max(numbers) < 4 * len(numbers) and min(numbers) <= 1
    return tuple(range(min(numbers), max(numbers) + 1)) if dense and min(numbers) >= 0 else ()


CHECK = ClassLabelsCheck
