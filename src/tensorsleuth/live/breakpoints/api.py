"""The functions that users call for break points on tensors."""

from __future__ import annotations

import atexit
import os
from typing import Any

from tensorsleuth.live.breakpoints.actions import prepare_to_record
from tensorsleuth.live.breakpoints.breakpoint import Action, Breakpoint, Predicate, make_breakpoint
from tensorsleuth.live.breakpoints.hit import Hit
from tensorsleuth.native import loader
from tensorsleuth.recording import api as recording
from tensorsleuth.recording.handle import RemovableHandle
from tensorsleuth.recording.harmless import complain
from tensorsleuth.recording.structure.selector import SelectorText

# How many milliseconds the program's end waits for TensorFlow's threads to leave Python.
DRAIN_MILLISECONDS = 5000

_breaks: Any = None  # Breakpoints, created by the first break_when


class Break(RemovableHandle[Breakpoint]):
    """An active break point. It ends with `remove()`, with its `with` block, or with the program."""

    def __init__(self, point: Breakpoint) -> None:
        super().__init__(point)
        self._hits = point.hits
        self.condition = point.text

    @property
    def hits(self) -> list[Hit]:
        """Return the hits so far, at most the latest 1,000."""
        return list(self._hits)

    def _on_remove(self, held: Breakpoint) -> None:
        _remove(held)

    def __repr__(self) -> str:
        return f"<break point {self.condition}, {len(self._hits)} hits>"


def break_when(
    condition: str | Predicate, on: SelectorText = None, then: Action = "pause", times: int | None = None
) -> Break:
    """Act when a condition on a tensor holds, at the point where the tensor is computed.

    Args:
        condition: a string such as "nan > 0", "grad_norm > 100", "dtype == 'float16' and size > 1e6", or a function
            of (op, value) that returns a boolean.
        on: the tensors to check, as names or regular expressions of ops, layers and variables. The prefixes "layer:",
            "op:", "name:", "variable:" and "gradient:" restrict the match. By default all tensors are checked.
        then: "pause", "stop" (raises BreakError), "record" or "record:N" (the next N steps in full), "save" (the step),
            or a function of the hit.
        times: the number of hits to act on. By default 1 for pause, record and save, and unlimited for the others.
    """
    global _breaks
    point = make_breakpoint(condition, on, then, times)
    recording.require_tensorflow()
    from tensorsleuth.live.breakpoints.breakpoints import Breakpoints

    if point.action == "record":
        prepare_to_record(recording.active_recorder())
    if _breaks is None:
        _breaks = Breakpoints()
        atexit.register(_end)
        os.register_at_fork(after_in_child=_breaks.abandon)
    if point.action == "pause":
        _breaks.acting.pauses.expect()
    _breaks.add(point)
    recording.add_observer(_breaks)
    return Break(point)


def _remove(point: Breakpoint) -> None:
    if _breaks.remove(point):
        recording.remove_observer(_breaks)


def _end() -> None:
    """Prevent calls from TensorFlow's threads into Python while the program ends."""
    try:
        _breaks.acting.close()
        recording.remove_observer(_breaks)
        native = loader.load()
        if native is not None:
            native.break_drain(DRAIN_MILLISECONDS)
    except Exception as error:
        complain(f"break points did not end cleanly: {error!r}")
