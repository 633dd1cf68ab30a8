"""A run in which a model was looked into, in the files that a recording writes; the weights are NumPy's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tests.unit import little_run

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import INSIDE_ROW, SHAPE, VALUE, EventKind, MeasureFlag
from tensorsleuth.trace.series.attention import HEAD_STATISTICS, HEADER, NO_SHADE, SHADES
from tensorsleuth.trace.storage import journal
from tensorsleuth.trace.storage.synthetic import _write_ring

STEPS = (0, 1, 2, 4, 8, 16, 32, 64, 100, 200, 300)
DTYPES = {"float32": 1, "int32": 3, "int64": 9, "bool": 10}


class InsideRun:
    """Series are added one by one; `write` makes the run."""

    def __init__(self, path: Path, settings: Mapping[str, Any] | None = None) -> None:
        path.parent.mkdir(exist_ok=True)
        self.path = little_run.write(path, path.with_suffix(".py"))
        (self._folder,) = self.path.glob("p-*")
        self._settings = {"mode": "FULL_HEALTH", "inside_every": 100} if settings is None else settings
        self._series: list[dict[str, Any]] = []
        self._rows: list[Array] = []
        self._kept: list[bytes] = []
        self._shapes: list[tuple[int, ...]] = [(), (2, 3)]  # those of the little run

    def attention(self, name: str, looks: Sequence[Array], **fields: Any) -> None:
        """Weights [batch, heads, queries, keys], one for each of the last steps."""
        steps = STEPS[-len(looks) :]
        place = {"file": "/model/lm.py", "line": 24, "op": f"{name}/Softmax"}
        self._new("attention", name, place | fields)
        for step, weights in zip(steps, looks, strict=True):
            self._row(step, weights.shape, MeasureFlag.ATTENTION, kept_bytes(weights.astype(np.float32)))

    def input(self, name: str, value: Array) -> None:
        """The same batch at every step."""
        self._new("input", name, {})
        for step in STEPS:
            self._row(step, value.shape, MeasureFlag.VALUE, value.tobytes(), DTYPES[value.dtype.name], kept=len(value))

    def numbers(self, kind: str, name: str, norms: Sequence[float], shape: tuple[int, ...], **fields: Any) -> None:
        """Of a layer's output, a gradient, a variable or an update: norms at the last steps, and other fields."""
        about = {"activation": fields.pop("activation")} if "activation" in fields else {}
        self._new(kind, name, about)
        flags = fields.pop("flags", MeasureFlag.NORM)
        for step, norm in zip(STEPS[-len(norms) :], norms, strict=True):
            self._row(step, shape, flags, b"", norm=norm, elements=int(np.prod(shape)), **fields)

    def write(self) -> Path:
        catalog = journal.Journal(self._folder / "catalog.journal", 1 << 24)
        catalog.append("meta", {"settings": dict(self._settings)})
        for fields in self._series:
            catalog.append("series", fields)
        catalog.close()
        rows = np.concatenate([np.zeros(0, INSIDE_ROW), *self._rows])
        self._ring("inside", rows)
        self._ring("shapes", _shapes(self._shapes))
        values = np.zeros(len(rows), VALUE)
        sizes = np.array([len(data) for data in self._kept], np.uint64)
        values["event"], values["size"], values["kind"] = np.arange(len(rows)), sizes, 1
        values["offset"] = np.cumsum(sizes) - sizes
        self._ring("inside_value_rows", values[sizes > 0])
        (self._folder / "inside_values.bin").write_bytes(b"".join(self._kept))
        return self.path

    def _new(self, kind: str, name: str, fields: Mapping[str, Any]) -> None:
        number = len(self._series) + 1
        known = {"id": number, "kind": kind, "name": name, "of": "inside", "trains": True, "file": None, "line": None}
        self._series.append({**known, **fields})

    def _row(self, step: int, shape: tuple[int, ...], flags: int, data: bytes, dtype: int = 1, **fields: Any) -> None:
        row = np.zeros(1, INSIDE_ROW)
        if shape not in self._shapes:
            self._shapes.append(shape)
        known = {
            "series": len(self._series),
            "step": step,
            "kind": EventKind.GRAPH,
            "flags": int(flags),
            "dtype": dtype,
        }
        for name, value in {**known, "shape": self._shapes.index(shape) + 1, **fields}.items():
            row[name] = value
        self._rows.append(row)
        self._kept.append(data)

    def _ring(self, name: str, rows: Array) -> None:
        _write_ring(self._folder / f"{name}.bin", rows.dtype, len(rows), 0, partial(little_run._between, rows))


def _shapes(shapes: Sequence[tuple[int, ...]]) -> Array:
    rows = np.zeros(len(shapes), SHAPE)
    for row, shape in zip(rows, shapes, strict=True):
        row["rank"], row["kind"] = len(shape), 1
        row["dims"][: len(shape)] = shape
    return rows


def kept_bytes(weights: Array, block: int = 1) -> bytes:
    """What the native library keeps of weights; `block` queries and keys are one."""
    batch, heads, rows, columns = weights.shape
    small = weights[:2].reshape(-1, heads, rows // block, block, columns // block, block).sum(-1).mean(-2)
    header = np.zeros(1, HEADER)
    sizes = (1, len(HEAD_STATISTICS), len(small), heads, heads, rows, columns, *small.shape[2:], block, block, batch)
    header[0] = sizes
    numbers = np.array([statistics(weights)[name] for name in HEAD_STATISTICS], "<f8")
    return bytes(header.tobytes() + numbers.tobytes() + shades(small).tobytes())


def shades(weights: Array) -> Array:
    """Weights as integers, as they are kept."""
    counted = np.rint(np.clip(np.nan_to_num(weights), 0, 1) * SHADES)
    counted = np.where(counted > 0, counted + 1, weights > 0)
    return np.where(np.isnan(weights), NO_SHADE, counted).astype("<u2")


def statistics(weights: Array) -> dict[str, Array]:
    """A number a head, of the rows that are weights."""
    w = weights.astype(np.float64).transpose(1, 0, 2, 3).reshape(weights.shape[1], -1, weights.shape[3])
    i = np.tile(np.arange(weights.shape[2]), len(weights))[:, None]
    j = np.arange(weights.shape[3])
    nan, zero = ~np.isfinite(w).all(-1), (w == 0).all(-1)
    good = ~(nan | zero)[..., None]
    w = np.where(good, w, 0)
    many = np.maximum(good.sum((1, 2)), 1)
    square = 1.0 if weights.shape[2] == weights.shape[3] else np.nan
    return {
        "entropy": -(w * np.log(np.where(w > 0, w, 1))).sum((1, 2)) / many / np.log(w.shape[2]),
        "distance": square * (w * abs(i - j)).sum((1, 2)) / many,
        "sink": w[..., 0].sum(1) / many,
        "collapse": (w.sum(1) / many[:, None]).max(-1),
        "off_sum": (abs(w.sum(-1) - 1) * good[..., 0]).max(-1),
        "ahead": square * (w * (j > i)).sum((1, 2)) / many,
        "nan_rows": nan.sum(1).astype(float),
        "zero_rows": zero.sum(1).astype(float),
    }


def weights(seed: int, shape: tuple[int, ...] = (3, 4, 12, 12), sharp: float = 3.0, masked: Any = None) -> Array:
    """Of random scores; `masked` is true where a query does not see a key."""
    scores = sharp * np.random.default_rng(seed).normal(size=shape)
    scores = scores if masked is None else np.where(masked, -1e9, scores)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True), np.float32)


def causal(many: int = 12) -> Array:
    return np.triu(np.ones((many, many), bool), 1)
