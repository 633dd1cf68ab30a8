"""The activity of each thread when the program ended."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any

from tensorsleuth.core.catalog import EagerOp, Instance, Node, Site
from tensorsleuth.core.dtypes import dtype_of
from tensorsleuth.core.last_moments import Doing
from tensorsleuth.diagnose.exits.running_ops import UnderWay
from tensorsleuth.trace.dataflow.call_graph import Moments
from tensorsleuth.trace.process.layers import Layers
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.process.thread_slots import Begun, ThreadState, threads_of

MOST_THREADS = 64
_GIVEN = re.compile(r"__(?:inference|forward|backward)_(.+?)_\d+(?:__.*)?$")  # TensorFlow's name -> the program's


class Threads:
    """The threads of one process at its end; `now` is that moment in the time of its rows, 0 where it is not known."""

    def __init__(self, process: ProcessTrace, now: int, in_python: bool = False) -> None:
        self._process = process
        self._now = now
        self._in_python = in_python  # a function had called Python
        self._layers = Layers(process.catalogue)
        self._states = threads_of(process)[:MOST_THREADS]

    @cached_property
    def _moments(self) -> Moments:
        return Moments(self._process)

    @property
    def step(self) -> int | None:
        """The training step that was under way."""
        steps = [one.step for state in self._states for one in (*state.under_way, state.last) if one is not None]
        return max((step for step in steps if step >= 0), default=None)

    @property
    def calls(self) -> set[int]:
        """The functions that had not come back."""
        return {one.call for state in self._states for one in state.under_way if one.call}

    @cached_property
    def doing(self) -> tuple[Doing, ...]:
        """The main thread first, then those that were in an op, then what the others did last."""
        return tuple(self._doing(state) for state in self._states)

    def _doing(self, state: ThreadState) -> Doing:
        name = "main thread" if state.main else f"thread {state.number}"
        known = [one for one in state.under_way if one.op] or [one for one in [state.last] if one is not None]
        begun = known[-1]
        op = self._process.catalogue.eager.get(begun.op)
        ended = begun not in state.under_way
        inside = self._inside(name, op, begun) if op is not None and begun.call and not ended else ()
        layer = self._layers.of_eager(op) if op is not None else None
        kind = function_name(op.type) if op is not None else "an op at a new place"
        return self._told(name, kind, kind, self._site(op), layer, self._since(begun), ended, inside)

    def _since(self, begun: Begun) -> float | None:
        return max(0.0, (self._now - begun.time) / 1e9) if self._now and begun.time else None

    def _site(self, op: EagerOp | None) -> Site | None:
        return self._process.catalogue.sites.get(op.site) if op is not None else None

    def _inside(self, thread: str, op: EagerOp, begun: Begun) -> tuple[Doing, ...]:
        instance = self._process.catalogue.instances.get(op.instance)
        if instance is None:
            return ()
        found = UnderWay(self._moments, begun.call, instance).find(self._in_python)
        return tuple(self._node(thread, *one) for one in found)

    def _node(self, thread: str, instance: Instance, node: Node, earlier: int | None) -> Doing:
        catalogue = self._process.catalogue
        site = catalogue.sites.get(node.forward.site if node.forward is not None else node.site)
        layer = self._layers.of_node(catalogue.functions[instance.function], node)
        told = self._told(thread, node.type, node.name, site, layer, None, False, ())
        return told if earlier is None else _with_size(told, self._process, self._process.events[earlier])

    def _told(
        self,
        thread: str,
        op: str,
        name: str,
        site: Site | None,
        layer: str | None,
        seconds: float | None,
        ended: bool,
        inside: tuple[Doing, ...],
    ) -> Doing:
        frame = site.frame if site is not None else None
        file, line, function = (frame.file, frame.line, frame.function) if frame is not None else (None, None, None)
        code = code_at(self._process, file, line)
        return Doing(thread, op, name, file, line, function, code, layer, seconds, ended, inside=inside)


def _with_size(told: Doing, process: ProcessTrace, row: Any) -> Doing:
    shape, dtype = process.shape_of(row), dtype_of(int(row["dtype"]))
    if shape is None:
        return told
    size = dtype.itemsize
    for length in shape:
        size *= length
    return Doing(**{**vars(told), "makes": f"{dtype.name} {list(shape)}", "bytes": size})


def function_name(kind: str) -> str:
    """A function as the program calls it."""
    found = _GIVEN.match(kind)
    return found.group(1) if found is not None else kind


def code_at(process: ProcessTrace, file: str | None, line: int | None) -> str | None:
    """A line of the program as it was when it ran."""
    text = process.catalogue.sources.get(file) if file is not None else None
    lines = text.splitlines() if text is not None else []
    return lines[line - 1].strip() if line is not None and 0 < line <= len(lines) else None
