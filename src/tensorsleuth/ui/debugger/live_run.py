"""A run that grows while the debugger shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.trace.reader import Trace
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.ui.debugger.tensor_names import find_tensor

if TYPE_CHECKING:
    from tensorsleuth.ui.debugger.debugger import Debugger


def is_alive(debugger: Debugger) -> bool:
    """Return whether the program may still write rows."""
    return debugger.live is not None or run_folder.is_alive(debugger.trace.path)


def reread_if_grown(debugger: Debugger) -> Trace | None:
    """Return the run read again if it has grown, else None."""
    again = Trace(debugger.trace.path)
    return again if _length(again) != _length(debugger.trace) else None


def _length(trace: Trace) -> int:
    return sum(process.event_count + process.lost_events for process in trace.processes)


def go_to_pause(debugger: Debugger, status: dict[str, Any]) -> None:
    """Select the tensor at which a live program is paused, if it is recorded already."""
    again = reread_if_grown(debugger)
    if again is not None:
        debugger.reload(again)
    name = pause_place(status).get("name")
    if status.get("state") != "paused" or not isinstance(name, str):
        return
    try:
        debugger.select(find_tensor(debugger, name, nth=-1))
    except SleuthError:  # the probe has not written the tensor yet
        return


def pause_place(status: dict[str, Any]) -> dict[str, Any]:
    """Return the place where a live program is paused."""
    where = status.get("where")
    return where if isinstance(where, dict) else {}
