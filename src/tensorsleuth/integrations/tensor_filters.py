"""Filters as in tfdbg: functions of a tensor's description and value, applied after every run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorsleuth.core.dtypes import dtype_of
from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.recording.harmless import complain
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.trace.process.process import ProcessTrace, TensorInfo
from tensorsleuth.trace.reader import Trace


@dataclass(frozen=True)
class Datum:
    """The facts about a tensor that a filter gets in addition to its value."""

    node_name: str
    output_slot: int
    op: str  # the type of the op
    dtype: str
    shape: tuple[int, ...] | None
    bad: bool  # holds a NaN or an infinity
    step: int | None
    iteration: int
    device_name: str | None
    timestamp: int  # nanoseconds
    file: str | None
    line: int | None
    debug_op: str = "DebugIdentity"

    @property
    def tensor_name(self) -> str:
        return f"{self.node_name}:{self.output_slot}"


TensorFilter = Callable[[Any, Any], Any]
_global_filters: dict[str, TensorFilter] = {}
_raised: set[str] = set()  # names of filters whose error was reported


def has_inf_or_nan(datum: Any, tensor: Any) -> bool:
    """Return whether it holds a NaN or an infinity, by the recorded health if `tensor` is None (not kept)."""
    if tensor is None:
        return bool(getattr(datum, "bad", False))
    array = np.asarray(tensor)
    return bool(array.dtype.kind in "fc" and not np.isfinite(array).all()) or bool(getattr(datum, "bad", False))


def add_tensor_filter(filter_name: str, tensor_filter: TensorFilter) -> None:
    """Add this filter to every hook and session that is made from now on."""
    _global_filters[_check_name(filter_name)] = _check_filter(tensor_filter)


class TensorFilters:
    """The filters of one hook. Each is reported once, at the first tensor that passes it."""

    def __init__(self) -> None:
        self._filters: dict[str, TensorFilter] = {"has_inf_or_nan": has_inf_or_nan, **_global_filters}
        self._since = 0  # time of the last row that was examined

    def add(self, filter_name: str, tensor_filter: TensorFilter) -> None:
        self._filters[_check_name(filter_name)] = _check_filter(tensor_filter)

    @property
    def only_health(self) -> bool:
        """Return whether rows of bad tensors are enough for all filters."""
        return set(self._filters.values()) <= {has_inf_or_nan}

    def hits(self, trace: Trace) -> list[tuple[str, Datum]]:
        """Return the filters that new tensors pass, each with its tensor."""
        found: dict[str, Datum] = {}
        for datum, value in (pair for process in trace.processes for pair in self._new_tensors(process)):
            for name, holds in self._filters.items():
                if name not in found and _holds(name, holds, datum, value):
                    found[name] = datum
        for name in found:
            del self._filters[name]
        return list(found.items())

    def _new_tensors(self, process: ProcessTrace) -> Iterator[tuple[Datum, Any]]:
        events = process.events
        wanted = (events["time"] > self._since) & (events["flags"] & EventFlag.LOOKED != 0)
        if self.only_health:
            wanted &= events["flags"] & EventFlag.BAD != 0
        self._since = max(self._since, int(events["time"].max(initial=0)))
        for index in np.flatnonzero(wanted):
            tensor = process.tensor(events[index]["tensor"])
            if tensor is not None:
                yield _datum(process, events[index], tensor), process.value(int(index))


def _holds(name: str, tensor_filter: TensorFilter, datum: Datum, value: Any) -> bool:
    """Apply a filter. If it raises, report it once and apply the others."""
    try:
        with tf.eagerly():
            return bool(tensor_filter(datum, value))
    except Exception as error:
        what = f"the tensor filter {name} raised {type(error).__name__} at {datum.tensor_name} ({datum.dtype}): {error}"
        first = name not in _raised
        _raised.add(name)
        if first:
            complain(f"{what}. Here the filter counts as not passed. Other filters and tensors are still checked.")
        return False


def _datum(process: ProcessTrace, row: Any, tensor_info: TensorInfo) -> Datum:
    frame = tensor_info.site.frame if tensor_info.site is not None else None
    return Datum(
        tensor_info.name,
        tensor_info.output,
        tensor_info.type,
        dtype_of(int(row["dtype"])).name,
        process.shape_of(row),
        bool(row["flags"] & EventFlag.BAD),
        process.step_of(row),
        int(row["iteration"]) if tensor_info.eager is None else 0,
        process.device_of(row),
        int(row["time"]),
        frame.file if frame is not None else None,
        frame.line if frame is not None else None,
    )


def _check_name(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise ValueError(f"the name of a tensor filter is {name!r}; it must be a string.")
    return name


def _check_filter(tensor_filter: Any) -> TensorFilter:
    if not callable(tensor_filter):
        raise TypeError(f"a tensor filter is {tensor_filter!r}; it must be a function of (datum, tensor).")
    return tensor_filter  # type: ignore[no-any-return]
