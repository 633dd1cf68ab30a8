"""The tensors that met in an op or a check that refused their shapes or dtypes, and what they were computed from."""

from __future__ import annotations

import re
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any

from tensorsleuth.core.error_text import is_about_dtypes
from tensorsleuth.core.ops.kinds import VARIABLE_OPS
from tensorsleuth.recording.call_sites import CallSites, is_framework_file
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.recording.tensorflow.tracing import is_symbolic
from tensorsleuth.recording.tensorflow.variables import READ_VARIABLE, living_variables
from tensorsleuth.trace.process.refusal import CAPTURED, FEEDING, VARIABLE

MAX_KEPT_ERRORS = 4  # the newest: one of them may end the program
MAX_NODES = 300  # tensors that are described, the nearest first
MAX_OPERANDS = 16
MAX_AXES = 32
_ABOUT_SHAPES = re.compile(r"[Ss]hape|depth|[Dd]im|[Ii]ncompatible|[Rr]ank|[Ss]ize|axis|reshape|[Dd]epth of|broadcast")
_OP = re.compile(r"\[Op:(\w+)\]")  # of an eager op
_RUNNING_NODE = re.compile(r"\{\{function_node __(?!wrapped__)|Graph execution error")  # rows of the function tell more

MakerOf = Callable[[int], tuple[str, int]]  # the op that made an eager tensor, by uid, and its site


@dataclass(frozen=True)
class _Refusal:
    error: int  # the id of the exception
    message: str
    described: dict[str, Any]


class RefusedInputs:
    """Keeps the inputs of the newest errors about shapes and dtypes.

    TensorFlow and Keras cut their own frames, which hold the inputs, from a traceback before the program gets it.
    """

    def __init__(self, call_sites: CallSites, maker_of: MakerOf = lambda uid: ("", 0)) -> None:
        self._sites = call_sites
        self._maker_of = maker_of
        self._kept: deque[_Refusal] = deque(maxlen=MAX_KEPT_ERRORS)

    def note(self, error: BaseException, trace: TracebackType | None) -> None:
        """Look at an exception that still has the frames of TensorFlow or Keras."""
        message = str(getattr(error, "message", error))
        if not isinstance(error, (ValueError, TypeError, *tf.TensorFlowErrors)):
            return
        if not _ABOUT_SHAPES.search(message) and not is_about_dtypes(message):
            return
        if _RUNNING_NODE.search(message) or self._is_known(error, message):
            return
        frames = [frame for frame, _ in traceback.walk_tb(trace)]
        op, operands = _find_operands(frames, message)
        if operands:
            described = _Description(self._sites, self._maker_of).of(operands) | {"op": op, "site": self._site(frames)}
            self._kept.append(_Refusal(id(error), message, described))

    def of(self, error: BaseException) -> dict[str, Any] | None:
        """Return the inputs for an exception, or for one whose message quotes it, as AutoGraph's and Keras's do."""
        self.note(error, error.__traceback__)  # it may have kept its frames
        return next((one.described for one in reversed(self._kept) if one.message in str(error)), None)

    def _is_known(self, error: BaseException, message: str) -> bool:
        """Return whether it is the newest error, or quotes it. An id alone may be that of an error that is gone."""
        last = self._kept[-1] if self._kept else None
        if last is None or last.message not in message:
            return False
        return last.message != message or last.error == id(error)

    def _site(self, frames: list[FrameType]) -> int:
        """Return the site of the program's line that called for the op."""
        calling = [(at, at.f_lineno) for at in _callers(frames[0])] if frames else []
        whole = [*reversed(calling), *((frame, frame.f_lineno) for frame in frames)]
        return self._sites.intern([(at.f_code.co_filename, line, at.f_code.co_name) for at, line in whole])


def _callers(frame: FrameType | None) -> Iterator[FrameType]:
    frame = frame.f_back if frame is not None else None
    while frame is not None:
        yield frame
        frame = frame.f_back


def _find_operands(frames: list[FrameType], message: str) -> tuple[str, list[Any]]:
    """Return the op and its inputs: of the graph op that was to be made, else the arguments of the innermost
    call whose sizes the message speaks of."""
    if is_about_dtypes(message):
        return _find_typed_operands(frames)
    sizes = {int(number) for number in re.findall(r"\d+", message)}
    named = _OP.search(message)
    best: tuple[str, list[Any]] = "", []
    for frame in reversed(frames):
        if not is_framework_file(frame.f_code.co_filename):
            break  # what the program raises itself
        local = frame.f_locals
        if hasattr(local.get("node_def"), "op") and "inputs" in local:
            return str(local["node_def"].op), list(_shaped(local["inputs"]))
        if "subfeed_t" in local and "np_val" in local:  # a session refuses what is fed
            return FEEDING, list(_shaped([local["subfeed_t"], local["np_val"]]))
        code = frame.f_code
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        operands = [one for name in names for one in _shaped(local.get(name)) if sizes & {*(_shape(one) or ())}]
        # TensorFlow's own code uses up an argument that is called `e`: the caller has it.
        if len(operands) > len(best[1]) and {*map(id, best[1])} <= {*map(id, operands)}:
            best = named[1] if named is not None else code.co_name, operands[:MAX_OPERANDS]
    return best


def _find_typed_operands(frames: list[FrameType]) -> tuple[str, list[Any]]:
    """Return the innermost public function that got tensors, of several dtypes if there is one that did."""
    best: tuple[str, list[Any]] = "", []
    for frame in reversed(frames):
        code = frame.f_code
        if not is_framework_file(code.co_filename):
            break
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        operands = [one for name in names for one in _shaped(frame.f_locals.get(name))][:MAX_OPERANDS]
        if operands and not code.co_name.startswith("_"):
            best = best if best[1] else (code.co_name, operands)
            if len({str(one.dtype) for one in operands}) > 1:
                return code.co_name, operands
    return best


def _shaped(value: Any) -> Iterator[Any]:
    """Yield the tensors, variables and arrays in an argument."""
    if isinstance(value, list | tuple):
        for item in value[:MAX_OPERANDS]:
            yield from _shaped(item)
    elif hasattr(value, "dtype") and isinstance(_shape(value), list):
        yield value


def _shape(tensor: Any) -> list[int | None] | None:
    """Return the shape, with None for an unknown size; None for what is no tensor, variable or array."""
    shape: Any = getattr(tensor, "shape", None)
    if hasattr(shape, "as_list"):
        shape = shape.as_list() if shape.rank is not None else []
    if not isinstance(shape, list | tuple):
        return None
    return [None if size is None else int(size) for size in shape][:MAX_AXES]


class _Description:
    """Describes tensors, and what they were computed from, as a list of nodes that name each other by number."""

    def __init__(self, call_sites: CallSites, maker_of: MakerOf) -> None:
        self._sites = call_sites
        self._maker_of = maker_of
        self._numbers: dict[int, int] = {}
        self._tensors: list[Any] = []

    def of(self, operands: list[Any]) -> dict[str, Any]:
        numbers = [number for one in operands if (number := self._number(one)) >= 0]
        nodes: list[dict[str, Any]] = []
        for tensor in self._tensors:  # grows while it is gone through
            nodes.append(self._node(tensor))
        return {"operands": numbers, "nodes": nodes}

    def _number(self, tensor: Any) -> int:
        """Return the number of a tensor; -1 if there are too many."""
        if id(tensor) not in self._numbers and len(self._tensors) < MAX_NODES:
            self._numbers[id(tensor)] = len(self._tensors)
            self._tensors.append(tensor)
        return self._numbers.get(id(tensor), -1)

    def _node(self, tensor: Any) -> dict[str, Any]:
        node: dict[str, Any] = {"shape": _shape(tensor) or [], "op": "", "name": "", "site": 0, "uid": 0, "inputs": []}
        node["dtype"] = str(getattr(tensor.dtype, "name", tensor.dtype))
        handle = _variable_handle(tensor)
        if handle is not None:
            name = getattr(tensor, "path", None) or getattr(tensor, "name", "")
            return node | self._variable(handle, str(name))
        if not is_symbolic(tensor):
            uid = int(getattr(tensor, "_id", 0))
            op, site = self._maker_of(uid) if hasattr(tensor, "_id") else ("", 0)  # the first one has the uid 0
            return node | {"uid": uid, "op": op, "site": site}
        outer = _captured(tensor)
        if outer is not None:
            return node | {"op": CAPTURED, "inputs": [self._number(outer)]}
        op = tensor.op
        if op.type == READ_VARIABLE or op.type in VARIABLE_OPS:
            return node | self._variable(op.inputs[0] if len(op.inputs) else tensor, _variable_name(op))
        inputs = [number for one in op.inputs if (number := self._number(one)) >= 0]
        return node | {"op": op.type, "name": op.name, "site": self._sites.of_graph_op(op), "inputs": inputs}

    def _variable(self, handle: Any, name: str) -> dict[str, Any]:
        """Describe a variable; one of TensorFlow 1 was made by an op of the graph."""
        while is_symbolic(handle) and (outer := _captured(handle)) is not None:
            handle = outer
        known = {"op": VARIABLE, "name": name.removesuffix(":0"), "uid": int(getattr(handle, "_id", 0))}
        if not is_symbolic(handle):
            return known
        return known | {"name": handle.op.name, "uid": 0, "site": self._sites.of_graph_op(handle.op)}


def _variable_handle(tensor: Any) -> Any | None:
    """Return the handle of a variable of TensorFlow's or Keras's; None for a tensor."""
    inner = getattr(tensor, "_value", None)
    handle = getattr(tensor, "handle", None)
    return handle if handle is not None else getattr(inner, "handle", None)


def _captured(tensor: Any) -> Any | None:
    """Return the tensor outside of a function that one inside of it stands for."""
    captures = getattr(tensor.op.graph, "captures", ()) if tensor.op.type == "Placeholder" else ()
    return next((outer for outer, inner in captures if inner is tensor), None)


def _variable_name(read: Any) -> str:
    """Return the name of the variable that an op in a function reads."""
    outer = _captured(read.inputs[0]) if len(read.inputs) else None
    known = living_variables(read.graph)
    return next((str(one.name) for one in known if _variable_handle(one) is outer), "")
