"""Expectations of tensors in graphs: judged by an op of ours, by plain ops where XLA compiles, by Python elsewhere."""

from __future__ import annotations

import ctypes
import re
from typing import Any
from weakref import WeakKeyDictionary

from tensorsleuth.live.expect import compiled, native_judge, python_op
from tensorsleuth.live.expect.dimension_names import Known
from tensorsleuth.live.expect.expectation import Expectation
from tensorsleuth.live.expect.graph_callbacks import Asked, act_on, judged_by_python, listen, number_of
from tensorsleuth.live.expect.judge import judge_form, need_numbers
from tensorsleuth.live.expect.report import paired, violation
from tensorsleuth.native import loader
from tensorsleuth.recording.caller import Place
from tensorsleuth.recording.tensorflow import custom_ops, tracing
from tensorsleuth.recording.violations.actions import finish
from tensorsleuth.recording.violations.pending_errors import alarm_in

_static_names: WeakKeyDictionary[Any, Known] = WeakKeyDictionary()  # by the outermost graph


def judged(tensor: Any, name: str, expected: Expectation, place: Place) -> Any:
    """The tensor to use in the place of one in a graph."""
    dtype, shape = tensor.dtype.base_dtype.name, tensor.shape
    sizes = list(shape.as_list()) if shape.rank is not None else None
    judge_static(dtype, sizes, name, expected, place, tensor.graph)
    need_numbers(expected, dtype)
    settled = is_formed(expected, sizes) and not expected.of_values and not expected.names
    if settled or tracing.is_saving():
        return tensor
    asked = Asked(expected, name, place, dtype)
    custom_ops.leave_out_of_saved_models()
    custom_ops.trace_compiled_apart()
    if custom_ops.may_be_compiled(tensor.graph):
        compiled.insert(tensor, number_of(asked), asked, act_on, form=not is_formed(expected, sizes))
        return tensor
    if _has_kernel(dtype, sizes):
        return custom_ops.insert(tensor, _planned(asked), f"expect_{_as_op_name(name)}")
    custom_ops.watch_failures(alarm_in)
    return python_op.insert(tensor, lambda array: judged_by_python(asked, array), f"expect_{_as_op_name(name)}")


def judge_static(
    dtype: str, sizes: list[int | None] | None, name: str, expected: Expectation, place: Place, graph: Any = None
) -> None:
    """Report what is already known while the graph is built."""
    known = _static_names.setdefault(tracing.outermost(graph), {}) if graph is not None else {}
    report = judge_form(expected, dtype, sizes, known, place)
    shape: Any = tuple(sizes) if sizes is not None else None
    found = violation(expected, report, name, dtype, shape, place) if report is not None else None
    finish(found, expected.on_violation)


def is_formed(expected: Expectation, sizes: list[int | None] | None) -> bool:
    """Is all that is expected of the shape known already."""
    if not expected.rank and expected.shape is None and expected.max_elements is None and not expected.least_rank:
        return True
    if sizes is None:
        return False
    needed = [size for size, dim in paired(expected.shape or (), sizes) if dim is not None]
    return None not in needed and (expected.max_elements is None or None not in sizes)


def _has_kernel(dtype: str, sizes: list[int | None] | None) -> bool:
    return loader.load() is not None and dtype in native_judge.NUMBERS and (sizes is None or len(sizes) <= 8)


def _as_op_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.]+", "_", name).strip("_.") or "tensor"


def _planned(asked: Asked) -> int:
    """The number under which native code knows what is asked."""
    number = number_of(asked)
    native = loader.load()
    assert native is not None
    native.expect_set(number, ctypes.byref(native_judge.plan_of(asked.expected, asked.dtype)))
    listen()
    return number
