"""The flight recorder's interface to the native library: keeps the outside inputs of calls, and finds bad values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorsleuth.native import loader
from tensorsleuth.recording.tensorflow import internals as tf


class ReplayStore:
    """The native library's store of the outside inputs of calls."""

    def __init__(self, native: loader.Native) -> None:
        self._native = native
        self.bad_count = native.bad_in_functions  # the number of bad tensors in functions so far
        self.drop = native.held_drop
        self.rewind = native.held_again
        self.count = native.held_count
        self.bytes = native.held_bytes  # of the outside inputs of a call
        self.forget = native.held_forget
        self.clear = native.held_clear
        self.eager_writes = native.eager_writes  # the number of eager ops that have written a variable
        self.join_call = native.held_join  # assigns the values from `hold` to a call

    def keep(self, slot: int, tensor: Any) -> None:
        """Keep a value from another process or run."""
        tf.run_op("SleuthHold", [tensor], ("hold", slot, "T", tensor._datatype_enum()), 0)

    def values_in(self, slot: int, dtype: int) -> list[Any]:
        """Return the kept values in a slot for the call to replay."""
        attrs = ("hold", slot, "Tout", [dtype], "needed", 1, "count", 1)
        values = [tf.run_op("SleuthHeld", [], attrs, 1)[0] for _ in range(self.count(slot))]
        self.rewind(0)
        return values

    def any_bad(self, tensors: Sequence[Any]) -> bool:
        return bool(self._native.any_bad(list(tensors)))

    def note_reads(self, values: Sequence[Any], ops: Any, firsts: Any, handles: Any, look: int) -> list[int]:
        """Record variables' values as if the program had read them. Return which of them are bad."""
        bad = np.zeros(len(values), np.uint8)
        columns = (column.ctypes.data for column in (ops, firsts, handles))
        self._native.note_reads(list(values), *columns, look, bad.ctypes.data)
        return [int(number) for number in np.flatnonzero(bad)]
