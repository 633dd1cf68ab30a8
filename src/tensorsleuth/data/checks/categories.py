"""Checks that every value is one of the declared ones."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorsleuth.core.array import Array
from tensorsleuth.core.violation import Violation, format_value
from tensorsleuth.data.block import Piece
from tensorsleuth.data.check import FeatureCheck
from tensorsleuth.data.feature import Feature
from tensorsleuth.data.tally import Tally

MAX_LISTED_CATEGORIES = 6


class CategoriesCheck(FeatureCheck):
    def wants(self, feature: Feature, piece: Piece) -> bool:
        return feature.one_of is not None

    def inspect(self, state: Tally, feature: Feature, piece: Piece) -> None:
        assert feature.one_of is not None
        state.total += piece.array.size
        strange = ~is_among(piece.array, feature.one_of) & ~piece.missing
        if strange.any():
            state.add(piece, piece.array, strange)

    def judge(self, name: str, feature: Feature, state: Tally) -> Iterator[Violation]:
        if state.broken:
            assert feature.one_of is not None
            found = "others, such as " + ", ".join(format_value(one) for one in dict.fromkeys(state.values))
            change = _advice(state.values, feature.one_of)
            yield Violation(
                "one_of", name, list_choices(feature.one_of), found, change=change, **state.violation_fields()
            )


def is_among(array: Array, known: tuple[Any, ...]) -> npt.NDArray[np.bool_]:
    """Return which values are known. Bytes count as UTF-8 text."""
    if array.dtype.kind in "OSUT":
        texts = set(known)
        flat = [
            (one.decode("utf-8", "backslashreplace") if isinstance(one, bytes) else one) in texts
            for one in array.reshape(-1).tolist()
        ]
        return np.array(flat, bool).reshape(array.shape)
    numbers = [one for one in known if isinstance(one, (int, float))]
    return np.asarray(np.isin(array, np.array(numbers))) if numbers else np.zeros(array.shape, bool)


def list_choices(known: tuple[Any, ...]) -> str:
    more = f" … ({len(known):,} in all)" if len(known) > MAX_LISTED_CATEGORIES else ""
    return "one of " + ", ".join(format_value(one) for one in known[:MAX_LISTED_CATEGORIES]) + more


def _advice(values: list[Any], known: tuple[Any, ...]) -> str:
    texts = {str(one).strip().lower(): one for one in known}
    for value in values:
        close = get_close_matches(str(value).strip().lower(), list(texts), 1, 0.75) if isinstance(value, str) else []
        if close:
            meant = format_value(texts[close[0]])
            return f"Is {format_value(value)} meant to be {meant}? Correct it, or add it to one_of."
    return "Correct them, or add them to one_of."


CHECK = CategoriesCheck
