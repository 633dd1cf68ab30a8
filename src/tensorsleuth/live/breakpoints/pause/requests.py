"""The requests that a debugger can send to a paused program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.live.breakpoints.pause import expressions
from tensorsleuth.live.breakpoints.pause.pause import CONTINUE, STOP, Pause, PauseController
from tensorsleuth.live.breakpoints.pause.trace_so_far import PausedTrace
from tensorsleuth.trace.query.tensor_event import TensorEvent

MAX_VALUES = 1000  # values of a tensor in one answer

PauseRequest = dict[str, Any]


class RequestHandler:
    """Answers a debugger's requests, one at a time, while the program is paused."""

    def __init__(self, pause_controller: PauseController) -> None:
        self._pauses = pause_controller
        self._trace: tuple[int, PausedTrace] | None = None
        self._known: dict[str, Callable[[PauseRequest], PauseRequest]] = {
            "status": self._status,
            "continue": self._continue,
            "step": self._step,
            "until": self._until,
            "value": self._value,
            "eval": self._eval,
            "inputs": lambda asked: {"inputs": self._tensors(lambda event: event.inputs())},
            "consumers": lambda asked: {"consumers": self._tensors(lambda event: event.consumers())},
            "source": self._source,
            "stop": self._stop,
        }

    def answer(self, pause_request: PauseRequest) -> PauseRequest:
        wanted = pause_request.get("do")
        if not isinstance(wanted, str) or wanted not in self._known:
            raise SleuthError(f"unknown request {wanted!r}; use one of {', '.join(self._known)}.")
        with self._pauses.asking():
            return self._known[wanted](pause_request)

    def _paused(self) -> Pause:
        if self._pauses.current is None or self._pauses.current.decision is not None:
            raise SleuthError("the program is running: wait until it pauses.")
        return self._pauses.current

    def _status(self, pause_request: PauseRequest) -> PauseRequest:
        paused = self._pauses.current
        if paused is None or paused.decision is not None:
            return {"state": "running"}
        hit = paused.hit
        seen = {"dtype": hit.dtype, "shape": list(hit.shape), "seen": hit.seen, "pause": paused.number}
        return {"state": "paused", "where": hit.where(), "why": hit.condition, **seen}

    # ---- continuing

    def _continue(self, pause_request: PauseRequest) -> PauseRequest:
        self._paused()
        self._pauses.decide(CONTINUE)
        return {"state": "running"}

    def _stop(self, pause_request: PauseRequest) -> PauseRequest:
        self._paused()
        self._pauses.decide(STOP)
        return {"state": "running"}

    def _step(self, pause_request: PauseRequest) -> PauseRequest:
        self._paused()
        self._pauses.next_step()
        return {"state": "running"}

    def _until(self, pause_request: PauseRequest) -> PauseRequest:
        self._paused()
        self._pauses.until(pause_request.get("filter") or "")
        return {"state": "running"}

    # ---- inspecting

    def _value(self, pause_request: PauseRequest) -> PauseRequest:
        value = self._named(pause_request.get("name"))
        part = expressions.slice_value(value, pause_request.get("slice") or "")
        return array_to_json(part)

    def _eval(self, pause_request: PauseRequest) -> PauseRequest:
        paused = self._paused()
        result = expressions.evaluate(str(pause_request.get("expression") or ""), paused.value, self._named)
        return array_to_json(np.asarray(result)) | {"text": repr(result)[:2000]}

    def _named(self, name: str | None) -> Array:
        paused = self._paused()
        if name is None or name in (paused.hit.op.tensor, paused.hit.op.name):
            value = paused.value
            if value is None:
                raise SleuthError(f"the value of {paused.hit.op.tensor} is not on the host.")
            return value
        return self._trace_now().value(name)

    def _trace_now(self) -> PausedTrace:
        paused = self._paused()
        if self._trace is None or self._trace[0] != paused.number:
            self._trace = paused.number, PausedTrace(paused.recorder.folder, paused.sight)
        return self._trace[1]

    def _tensors(self, ask: Callable[[TensorEvent], list[TensorEvent]]) -> list[PauseRequest]:
        return [_event_to_json(event) for event in ask(self._trace_now().event)]

    def _source(self, pause_request: PauseRequest) -> PauseRequest:
        hit = self._paused().hit
        lines = self._trace_now().source(hit.op.file)
        return {"file": hit.op.file, "line": hit.op.line, "text": lines}


def _event_to_json(event: TensorEvent) -> PauseRequest:
    shape = list(event.shape) if event.shape is not None else None
    health = {name: value for name, value in event.health.items() if name not in ("process", "step", "dtype")}
    place = {"layer": event.op.layer, "file": event.op.file, "line": event.op.line}
    return {"name": event.name, "op": event.op.type, **place, "dtype": event.dtype, "shape": shape,
            "bad": event.bad, "health": health or None}  # fmt: skip


def array_to_json(array: Array) -> PauseRequest:
    """Return an array as JSON: its first values, nested by its shape if all of it fits."""
    whole = array.size <= MAX_VALUES
    values = array if whole else array.reshape(-1)[:MAX_VALUES]
    values = values if values.dtype.kind in "biuf" else values.astype(str)
    return {"dtype": str(array.dtype), "shape": list(array.shape), "values": values.tolist(), "truncated": not whole}
