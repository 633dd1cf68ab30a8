"""Checks that types are as declared, and that numbers are not stored as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.block import Piece
from tensorsleuth.data.check import FeatureCheck
from tensorsleuth.data.feature import DTYPE_KINDS, Feature, Label
from tensorsleuth.data.tally import Tally

MIN_NUMERIC_SHARE = 0.9  # if this share of a text column are numbers, the rest is a mistake


@dataclass
class TypeTally:
    wrong: list[str] = field(default_factory=list)  # types other than the declared one
    text: Tally = field(default_factory=Tally)  # values that are not numbers but should be
    uint8: bool = False


class TypesCheck(FeatureCheck):
    def new_state(self, feature: Feature, piece: Piece) -> TypeTally:
        return TypeTally()

    def wants(self, feature: Feature, piece: Piece) -> bool:
        return feature.dtype is not None or (piece.array.dtype.kind in "OU" and not isinstance(feature, Label))

    def inspect(self, state: TypeTally, feature: Feature, piece: Piece) -> None:
        if piece.array.dtype.kind in "OUS" and _is_number(feature.dtype) is not False and not _is_bytes(piece):
            return self._look_at_text(state, feature, piece)
        if feature.dtype is not None and not dtype_fits(feature.dtype, piece) and piece.dtype not in state.wrong:
            state.wrong.append(piece.dtype)
        return None

    def _look_at_text(self, state: TypeTally, feature: Feature, piece: Piece) -> None:
        if piece.typed and feature.dtype is not None:  # a source with types: all of it is text
            state.wrong = state.wrong or [piece.dtype]
            return
        mask = ~are_numbers(piece.array) & ~piece.missing
        state.text.total += int(np.count_nonzero(~piece.missing))
        state.text.add(piece, piece.array, mask)

    def judge(self, name: str, feature: Feature, state: TypeTally) -> Iterator[Violation]:
        if state.wrong:
            found = " and ".join(state.wrong)
            yield Violation(
                "dtype", name, f"dtype {feature.dtype}", found, change=_cast(feature.dtype or "", state.wrong[0])
            )
        broken, total = state.text.broken, state.text.total
        if broken and (feature.dtype is not None or broken <= (1 - MIN_NUMERIC_SHARE) * total):
            told = state.text.violation_fields()
            yield Violation("dtype", name, "numbers", "text", change="Put a number there, or leave it empty.", **told)


def dtype_fits(declared: str, piece: Piece) -> bool:
    """Return whether a piece has the declared type. Values in text may have any type of the same kind."""
    if declared in (piece.dtype, "string" if not piece.typed else None):
        return True
    kind = (
        np.dtype(piece.dtype).kind
        if piece.dtype not in ("string", "bfloat16")
        else {"bfloat16": "f"}.get(piece.dtype, "O")
    )
    if declared in DTYPE_KINDS:
        return kind in DTYPE_KINDS[declared]
    if piece.typed or declared not in _NUMBERS:
        return False
    return declared.startswith("float") or kind in "iu" or _whole(piece.array)


_NUMBERS = {f"{kind}{bits}" for kind in ("float", "int", "uint") for bits in (8, 16, 32, 64)}


def _whole(array: npt.NDArray[Any]) -> bool:
    """Return whether values are integers or NaN."""
    return array.dtype.kind == "f" and bool(np.all(np.isnan(array) | (array == np.floor(array))))


def _is_number(declared: str | None) -> bool | None:
    return None if declared is None else declared in ("float", "int", "number") or declared in _NUMBERS


def _is_bytes(piece: Piece) -> bool:
    return piece.array.dtype.kind == "O" and piece.array.size > 0 and isinstance(piece.array.reshape(-1)[0], bytes)


def are_numbers(array: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return which texts are numbers."""
    return np.array([_parses(value) for value in array.reshape(-1).tolist()], bool).reshape(array.shape)


def _parses(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _cast(declared: str, found: str) -> str:
    if found == "uint8" and declared.startswith("float"):
        return f"Cast and scale it: tf.cast(x, tf.{declared if declared != 'float' else 'float32'}) / 255."
    if found == "string":
        return "It is text: parse it first."
    return f"Convert it, x.astype({declared!r}), or change the schema."


CHECK = TypesCheck
