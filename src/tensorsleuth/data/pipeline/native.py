"""The native check of elements: rules for the op, and the function through which the op calls Python."""

from __future__ import annotations

import atexit
import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.dtypes import DTypeKind, dtype_of
from tensorsleuth.core.modes import Mode
from tensorsleuth.data.checks.ranges import bounds
from tensorsleuth.data.feature import Feature, Label
from tensorsleuth.native import loader
from tensorsleuth.recording.tensorflow import internals as tf

if TYPE_CHECKING:
    from tensorsleuth.data.pipeline.graph import ElementChecker

_checkers: dict[int, ElementChecker] = {}  # by number of their plan; never removed
_kept_alive: list[Any] = []  # objects that the library points to


class NativeChecker:
    """The ops of checked.cc, for one pipeline."""

    def __init__(self, plan: int) -> None:
        self._plan = plan

    @classmethod
    def make(cls, element_checker: ElementChecker) -> NativeChecker | None:
        native = loader.load()
        if native is None or any(_numpy_dtype(spec) is None for spec in element_checker.specs):
            return None
        if not _kept_alive:
            told = loader.CheckedCallback(_on_element)
            _kept_alive.append(told)
            native.checked_tell(told)
            atexit.register(native.checked_drain, 500)
        names: dict[str, int] = {}
        rules = (loader.ElementRule * len(element_checker.names))()
        for place, (name, spec) in enumerate(zip(element_checker.names, element_checker.specs)):
            rules[place] = native_rule(
                element_checker.schema[name], spec, element_checker.batched, name in element_checker.loose, names
            )
        plan = int(native.checked_plan(rules, len(rules)))
        _checkers[plan] = element_checker
        return cls(plan)

    def passes(self, index: Any, tensors: list[Any]) -> list[Any]:
        return list(tf.apply_op("SleuthChecked", index=index, values=tensors, plan=self._plan))

    def keeps(self, index: Any, tensors: list[Any]) -> Any:
        keep = tf.apply_op("SleuthKeeps", index=index, values=tensors, plan=self._plan)
        keep.set_shape([])
        return keep


def native_rule(feature: Feature, spec: Any, batched: bool, loose: bool, names: dict[str, int]) -> loader.ElementRule:
    """Return the rule of the op, which may flag an element that is fine, but never misses a bad one."""
    made = loader.ElementRule(
        rank=-1, look=int(Mode.FULL_HEALTH), nan=int(feature.missing > 0), inf=int(not feature.finite)
    )
    made.low, made.high = _bounds(feature, spec)
    if feature.shape is not None and not loose:
        shape = feature.shape if batched else feature.shape[1:]
        made.rank = len(shape)
        for place, size in enumerate(shape[:8]):
            made.dims[place] = _dimension(size, names)
    values = feature.one_of or (
        feature.classes if isinstance(feature, Label) and isinstance(feature.classes, tuple) else None
    )
    if values is not None:
        made.known, made.known_count = _known(values)
    if _wrong_type(feature, spec):
        made.rank = 99  # no element has this rank: every element is flagged
    return made


def _dimension(size: Any, names: dict[str, int]) -> int:
    if isinstance(size, str):
        return -2 - names.setdefault(size, len(names))
    return -1 if size is None else int(size)


def _bounds(feature: Feature, spec: Any) -> tuple[float, float]:
    from tensorsleuth.data.block import Piece

    low, high = -np.inf, np.inf
    if feature.between is not None:
        low, high = bounds(feature, Piece(np.zeros(0, _numpy_dtype(spec))))
    if isinstance(feature, Label) and isinstance(feature.classes, int) and _numpy_dtype(spec).kind in "iu":
        hot = spec.shape.rank is not None and spec.shape.rank > 0 and spec.shape[-1] == feature.classes
        low, high = max(low, 0), min(high, 1 if hot else feature.classes - 1)
    return low, high


def _known(values: tuple[Any, ...]) -> tuple[Any, int]:
    numbers = sorted(float(value) for value in values if isinstance(value, (int, float)))
    array = (ctypes.c_double * max(1, len(numbers)))(*numbers)
    _kept_alive.append(array)
    return ctypes.cast(array, ctypes.POINTER(ctypes.c_double)), len(numbers)


def _wrong_type(feature: Feature, spec: Any) -> bool:
    from tensorsleuth.data.block import Piece
    from tensorsleuth.data.checks.types import dtype_fits

    return feature.dtype is not None and not dtype_fits(feature.dtype, Piece(np.zeros(0, _numpy_dtype(spec))))


def _numpy_dtype(spec: Any) -> Any:
    kind = dtype_of(spec.dtype.as_datatype_enum).kind
    return np.dtype(spec.dtype.as_numpy_dtype) if kind is not DTypeKind.OTHER else None


def _on_element(plan: int, index: int, count: int, views: Any, message: int, room: int) -> int:
    """Judge an element. The op calls this on a thread of the pipeline."""
    answer, text = _checkers[plan].judge(index, [_array(views[place]) for place in range(count)])
    if text:
        said = text.encode()[: room - 1] + b"\0"
        ctypes.memmove(message, said, len(said))
    return answer


def _array(view: Any) -> Array:
    """Return the op's input without a copy."""
    kind: Any = tf.as_dtype(view.dtype)
    dtype = np.dtype(kind.as_numpy_dtype)
    shape = tuple(view.dims[place] for place in range(min(view.rank, 8)))
    if not view.bytes:
        return np.zeros(shape, dtype)
    memory = (ctypes.c_char * view.bytes).from_address(view.data)
    return np.frombuffer(memory, dtype).reshape(shape if view.rank <= 8 else (-1,))
