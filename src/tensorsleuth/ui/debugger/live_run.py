"""A run that grows while it is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.trace.reader import Trace
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.ui.debugger.tensor_names import find_tensor

if TYPE_CHECKING:
    from tensorsleuth.ui.debugger.debugger import Debugger


def is_alive(debugger: Debugger) -> bool:
    """Return whether the program may still write."""
    return debugger.live is not None or run_folder.is_alive(debugger.trace.path)


def reread_if_grown(debugger: Debugger) -> Trace | None:
    """The run as it is now, where it has more than what was read."""
    again = Trace(debugger.trace.path)
    return again if _length(again) != _length(debugger.trace) else None


def _length(trace: Trace) -> int:
    return sum(process.event_count + process.lost_events for process in trace.processes)


def go_to_pause(debugger: Debugger, status: dict[str, Any]) -> None:
    """Go to the tensor that a live program is paused at, as far as it is recorded already."""
    again = reread_if_grown(debugger)
    if again is not None:
        debugger.reload(again)
    name = pause_place(status).get("name")
    if status.get("state") != "paused" or not isinstance(name, str):
        return
    try:
        debugger.select(find_tensor(debugger, name, nth=-1))
    except SleuthError:  # the probe has not written it yet
        return


def pause_place(status: dict[str, Any]) -> dict[str, Any]:
    """Return the place where a live program is paused."""
    where = status.get("where")
    return where if isinstance(where, dict) else {}
