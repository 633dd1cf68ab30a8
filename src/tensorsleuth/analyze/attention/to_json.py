"""The JSON of `sleuth attention --json` and `sleuth layers --json`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tensorsleuth.analyze.attention.picture import Picture
from tensorsleuth.analyze.attention.remark import AttentionRemark
from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Frame
from tensorsleuth.trace.series.attention import HEAD_STATISTICS, AttentionSeries


def attention_to_json(
    attention_series: Sequence[AttentionSeries],
    attention_remarks: Sequence[AttentionRemark],
    pictures: Sequence[Picture],
    lines: Mapping[str, Frame] | None = None,
) -> dict[str, Any]:
    """Return the fields listed in docs/transformers.md."""
    return {
        "attention": [_attention(one, (lines or {}).get(one.name)) for one in attention_series],
        "remarks": [remark.to_json() for remark in attention_remarks],
        "pictures": [_picture(one) for one in pictures],
    }


def _attention(one: AttentionSeries, line: Frame | None) -> dict[str, Any]:
    looks = [one.statistics(look) for look in range(len(one))]
    return {
        **{name: getattr(one, name) for name in ("name", "layer", "op", "file", "line", "by", "trains", "heads")},
        **({"file": line.file, "line": line.line} if line is not None else {}),
        "queries": one.rows,
        "keys": one.columns,
        "steps": one.steps.tolist(),
        "statistics": {name: [finite_or_null(look.get(name, ())) for look in looks] for name in HEAD_STATISTICS},
    }


def _picture(one: Picture) -> dict[str, Any]:
    names = ("layer", "head", "sample", "step", "scale", "queries", "keys")
    return {name: getattr(one, name) for name in names} | {"weights": [finite_or_null(row) for row in one.weights]}


def finite_or_null(numbers: Iterable[Any] | Array) -> list[float | None]:
    """Return numbers for JSON, with null for NaN or infinite."""
    return [float(number) if math.isfinite(number) else None for number in numbers]
