"""Judges tensors in graphs: with our op, with plain ops under XLA, and in Python for the rest."""

from __future__ import annotations

import ctypes
import re
from typing import Any
from weakref import WeakKeyDictionary

from tensorsleuth.live.expect import compiled, native_judge, python_op
from tensorsleuth.live.expect.dimension_names import NamedSizes
from tensorsleuth.live.expect.expectation import Expectation
from tensorsleuth.live.expect.graph_callbacks import (
    TensorExpectation,
    act_on,
    expectation_number,
    judge_in_python,
    listen,
)
from tensorsleuth.live.expect.judge import check_dtype_fits, judge_form
from tensorsleuth.live.expect.report import make_violation, pair_dims
from tensorsleuth.native import loader
from tensorsleuth.recording.calling_line import ProgramLine
from tensorsleuth.recording.tensorflow import custom_ops, tracing
from tensorsleuth.recording.violations.actions import handle_or_raise
from tensorsleuth.recording.violations.pending_errors import alarm_in

_static_names: WeakKeyDictionary[Any, NamedSizes] = WeakKeyDictionary()  # by the outermost graph


def judge_in_graph(tensor: Any, name: str, expected: Expectation, program_line: ProgramLine) -> Any:
    """Return the tensor that replaces the judged one in its graph."""
    dtype, shape = tensor.dtype.base_dtype.name, tensor.shape
    sizes = list(shape.as_list()) if shape.rank is not None else None
    judge_static(dtype, sizes, name, expected, program_line, tensor.graph)
    check_dtype_fits(expected, dtype)
    settled = is_shape_settled(expected, sizes) and not expected.value_rules and not expected.names
    if settled or tracing.is_saving():
        return tensor
    tensor_expectation = TensorExpectation(expected, name, program_line, dtype)
    custom_ops.leave_out_of_saved_models()
    custom_ops.trace_compiled_separately()
    if custom_ops.may_be_compiled(tensor.graph):
        compiled.insert(
            tensor,
            expectation_number(tensor_expectation),
            tensor_expectation,
            act_on,
            form=not is_shape_settled(expected, sizes),
        )
        return tensor
    if _has_kernel(dtype, sizes):
        return custom_ops.insert_expectation(tensor, _native_number(tensor_expectation), f"expect_{_as_op_name(name)}")
    custom_ops.watch_failures(alarm_in)
    return python_op.insert(
        tensor, lambda array: judge_in_python(tensor_expectation, array), f"expect_{_as_op_name(name)}"
    )


def judge_static(
    dtype: str,
    sizes: list[int | None] | None,
    name: str,
    expected: Expectation,
    program_line: ProgramLine,
    graph: Any = None,
) -> None:
    """Report violations that are already certain while the graph is built."""
    known = _static_names.setdefault(tracing.outermost_graph(graph), {}) if graph is not None else {}
    report = judge_form(expected, dtype, sizes, known, program_line)
    shape: Any = tuple(sizes) if sizes is not None else None
    found = make_violation(expected, report, name, dtype, shape, program_line) if report is not None else None
    handle_or_raise(found, expected.on_violation)


def is_shape_settled(expected: Expectation, sizes: list[int | None] | None) -> bool:
    """Return whether the static shape already answers all rules on the shape."""
    if not expected.rank and expected.shape is None and expected.max_elements is None and not expected.least_rank:
        return True
    if sizes is None:
        return False
    needed = [size for size, dim in pair_dims(expected.shape or (), sizes) if dim is not None]
    return None not in needed and (expected.max_elements is None or None not in sizes)


def _has_kernel(dtype: str, sizes: list[int | None] | None) -> bool:
    return loader.load() is not None and dtype in native_judge.DTYPE_NUMBERS and (sizes is None or len(sizes) <= 8)


def _as_op_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.]+", "_", name).strip("_.") or "tensor"


def _native_number(tensor_expectation: TensorExpectation) -> int:
    """Return the number of an expectation in native code."""
    number = expectation_number(tensor_expectation)
    native = loader.load()
    assert native is not None
    native.expect_set(number, ctypes.byref(native_judge.plan_of(tensor_expectation.expected, tensor_expectation.dtype)))
    listen()
    return number
