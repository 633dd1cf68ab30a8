"""The activity of each thread when the program ended."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

from tensorsleuth.core.catalog import EagerOp, Instance, Node, Site
from tensorsleuth.core.dtypes import dtype_of
from tensorsleuth.core.run_end import RunningOp
from tensorsleuth.diagnose.exits.running_ops import UnfinishedCall
from tensorsleuth.trace.dataflow.call_graph import CallGraphs
from tensorsleuth.trace.process.layers import LayerLookup
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.process.thread_slots import BegunOp, ThreadState, threads_of

MAX_THREADS = 64
_FUNCTION_NAME = re.compile(
    r"__(?:inference|forward|backward)_(.+?)_\d+(?:__.*)?$"
)  # TensorFlow's name -> the program's


class ThreadActivity:
    """The threads of one process at its end; `now` is that moment in the time of its rows, 0 where it is not known."""

    def __init__(self, process: ProcessTrace, now: int, in_python: bool = False) -> None:
        self._process = process
        self._end_time = now
        self._in_python = in_python  # a function had called Python
        self._layers = LayerLookup(process.catalogue)
        self._states = threads_of(process)[:MAX_THREADS]

    @cached_property
    def _call_graphs(self) -> CallGraphs:
        return CallGraphs(self._process)

    @property
    def step(self) -> int | None:
        """Return the training step that was running."""
        steps = [one.step for state in self._states for one in (*state.running_ops, state.last_op) if one is not None]
        return max((step for step in steps if step >= 0), default=None)

    @property
    def open_calls(self) -> set[int]:
        """Return the functions that had not returned."""
        return {one.call for state in self._states for one in state.running_ops if one.call}

    @cached_property
    def running_ops(self) -> tuple[RunningOp, ...]:
        """Return the main thread first, then threads in an op, then the last op of the others."""
        return tuple(self._running_op(state) for state in self._states)

    def _running_op(self, state: ThreadState) -> RunningOp:
        name = "main thread" if state.main else f"thread {state.number}"
        known = [one for one in state.running_ops if one.op] or [one for one in [state.last_op] if one is not None]
        begun = known[-1]
        op = self._process.catalogue.eager.get(begun.op)
        ended = begun not in state.running_ops
        inside = self._ops_inside(name, op, begun) if op is not None and begun.call and not ended else ()
        layer = self._layers.of_eager(op) if op is not None else None
        kind = function_name(op.type) if op is not None else "an op at a new place"
        return self._make_running_op(name, kind, kind, self._site(op), layer, self._since(begun), ended, inside)

    def _since(self, begun_op: BegunOp) -> float | None:
        return max(0.0, (self._end_time - begun_op.time) / 1e9) if self._end_time and begun_op.time else None

    def _site(self, op: EagerOp | None) -> Site | None:
        return self._process.catalogue.sites.get(op.site) if op is not None else None

    def _ops_inside(self, thread: str, op: EagerOp, begun_op: BegunOp) -> tuple[RunningOp, ...]:
        instance = self._process.catalogue.instances.get(op.instance)
        if instance is None:
            return ()
        found = UnfinishedCall(self._call_graphs, begun_op.call, instance).find(self._in_python)
        return tuple(self._running_node(thread, *one) for one in found)

    def _running_node(self, thread: str, instance: Instance, node: Node, earlier: int | None) -> RunningOp:
        catalogue = self._process.catalogue
        site = catalogue.sites.get(node.forward.site if node.forward is not None else node.site)
        layer = self._layers.of_node(catalogue.functions[instance.function], node)
        told = self._make_running_op(thread, node.type, node.name, site, layer, None, False, ())
        return told if earlier is None else _with_size(told, self._process, self._process.events[earlier])

    def _make_running_op(
        self,
        thread: str,
        op: str,
        name: str,
        site: Site | None,
        layer: str | None,
        seconds: float | None,
        ended: bool,
        inside: tuple[RunningOp, ...],
    ) -> RunningOp:
        frame = site.frame if site is not None else None
        file, line, function = (frame.file, frame.line, frame.function) if frame is not None else (None, None, None)
        code = source_line(self._process, file, line)
        return RunningOp(thread, op, name, file, line, function, code, layer, seconds, ended, inside=inside)


def _with_size(told: RunningOp, process: ProcessTrace, row: Any) -> RunningOp:
    shape, dtype = process.shape_of(row), dtype_of(int(row["dtype"]))
    if shape is None:
        return told
    size = dtype.itemsize
    for length in shape:
        size *= length
    return RunningOp(**{**vars(told), "makes": f"{dtype.name} {list(shape)}", "bytes": size})


def function_name(kind: str) -> str:
    """A function as the program calls it."""
    found = _FUNCTION_NAME.match(kind)
    return found.group(1) if found is not None else kind


def source_line(process: ProcessTrace, file: str | None, line: int | None) -> str | None:
    """A line of the program as it was when it ran."""
    text = process.catalogue.sources.get(file) if file is not None else None
    lines = text.splitlines() if text is not None else []
    return lines[line - 1].strip() if line is not None and 0 < line <= len(lines) else None
