"""One hit of a break point."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field, replace
from typing import Any

from tensorsleuth.core.array import Array
from tensorsleuth.core.dtypes import DTYPES
from tensorsleuth.core.modes import Mode
from tensorsleuth.live.breakpoints.condition_words import WORDS
from tensorsleuth.live.breakpoints.op_names import JudgedOp
from tensorsleuth.live.breakpoints.tensor_in_memory import TensorInMemory
from tensorsleuth.native.numpy_health import measure_health

MAX_KEPT_VALUE_BYTES = 65_536  # the largest value that a hit keeps after its action


@dataclass(frozen=True)
class Hit:
    """A hit of a break point: its place, and the recorded values."""

    condition: str
    op: JudgedOp
    call: int | None  # number of the eager call that computed the tensor
    iteration: int | None  # of the innermost loop
    dtype: str
    shape: tuple[int, ...]
    seen: dict[str, float]  # the known words of conditions, with their values
    value: Array | None = field(default=None, repr=False, compare=False)  # after the action only if small

    @property
    def step(self) -> int:
        return self.op.step

    @property
    def place(self) -> str:
        """Return the file, relative to the current directory, and the line."""
        return f"{os.path.relpath(self.op.file)}:{self.op.line}" if self.op.file else "an unknown line"

    def __str__(self) -> str:
        layer = f" · layer {self.op.layer}" if self.op.layer else ""
        seen = ", ".join(f"{name} {_number(value)}" for name, value in self.seen.items())
        return (
            f"{self.condition} holds for {self.op.tensor} ({self.op.type}), {self.dtype} {list(self.shape)}\n"
            f"   at    {self.place} · step {self.step}{layer}\n"
            f"   seen  {seen or 'its shape only'}"
        )

    def where(self) -> dict[str, Any]:
        """Return the place as JSON."""
        op = self.op
        place = {"name": op.name, "op": op.type, "layer": op.layer, "file": op.file, "line": op.line}
        return {**place, "step": op.step, "call": self.call, "tensor": op.tensor, "iteration": self.iteration}


def _number(value: float) -> str:
    return f"{value:.6g}"


def known_values(tensor_in_memory: TensorInMemory, looked: Mode, value: Array | None) -> dict[str, float]:
    """Return the known words in their usual order, without counts that are zero."""
    number = (
        _NUMBERS.get(str(value.dtype)) if value is not None and tensor_in_memory.dtype_name not in _AS_BITS else None
    )
    if value is not None and number is not None:
        tensor_in_memory, looked = (
            replace(tensor_in_memory, health=measure_health(value, number, Mode.FULL_NUMERICS)),
            Mode.FULL_NUMERICS,
        )
    facts = tensor_in_memory.facts(-1)
    known = {name: facts.word(name) for name, word in WORDS.items() if word.needs <= looked and name in _SHOWN_WORDS}
    return {name: seen for name, seen in known.items() if not math.isnan(seen) and (seen or name not in _COUNTS)}


_COUNTS = ("nan", "pos_inf", "neg_inf", "neg", "zero", "pos")
_SHOWN_WORDS = frozenset([*_COUNTS, "min", "max", "mean", "std", "norm", "change"])
_NUMBERS = {dtype.name: dtype.number for dtype in DTYPES.values()}
_AS_BITS = frozenset(name for name in _NUMBERS if name.startswith("float8"))
