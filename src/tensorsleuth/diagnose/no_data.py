"""The reason why a run has no data, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorsleuth.core.exit_status import signal_words
from tensorsleuth.core.modes import Mode
from tensorsleuth.trace.reader import Trace
from tensorsleuth.trace.run_summary import mode_of
from tensorsleuth.trace.storage import run_folder

FILTER_SETTINGS = ("op_regex", "tensor_dtypes")


def explain_no_data(trace: Trace) -> str | None:
    """Return a sentence or two; None if something was recorded."""
    calls = sum(process.call_count for process in trace.processes)
    if any(process.event_count for process in trace.processes) or (calls and mode_of(trace) is Mode.FLIGHT):
        return None
    if trace.trouble:
        return "The recording cannot be read."
    if run_folder.is_alive(trace.path):
        return "Nothing is recorded yet: TensorFlow has not computed anything so far. Try again later."
    if not trace.processes:
        return _not_started(trace)
    if calls:
        return f"Nothing was recorded: the filters selected no op{_filters(trace)}. Record without filters."
    ran = f"TensorFlow was imported, but no op ran until the program {_how_it_ended(trace)}"
    return f"Nothing was recorded: {ran}. {_advice(trace)}"


def _not_started(trace: Trace) -> str:
    if (trace.path / run_folder.TENSORFLOW_SEEN_FILE).exists():
        return (
            "Nothing was recorded: TensorFlow was imported, but recording did not start. The reason is on the "
            f'program\'s stderr, in the line "tensorsleuth: not recording: …". The program {_how_it_ended(trace)}. '
            "Check this machine: sleuth doctor"
        )
    return f"Nothing was recorded: the program {_how_it_ended(trace)} and had not imported TensorFlow. {_advice(trace)}"


def _how_it_ended(trace: Trace) -> str:
    end = trace.meta.get("ended", {})
    if isinstance(end.get("signal"), str):
        return signal_words(end["signal"])
    return f"ended with exit code {end['exit']}" if isinstance(end.get("exit"), int) else "ended (how was not recorded)"


def _advice(trace: Trace) -> str:
    end = trace.meta.get("ended", {})
    if end.get("exit") == 0:
        return "Name the program that computes: sleuth run train.py"
    said = [line for line in end.get("said") or () if isinstance(line, str)][-1:]
    return f"Its last message: {said[0]}" if said else "Its stderr says why: fix that first, then record again."


def _filters(trace: Trace) -> str:
    asked = ", ".join(f"{name}={value!r}" for name, value in _settings(trace) if name in FILTER_SETTINGS and value)
    return f" ({asked})" if asked else ""


def _settings(trace: Trace) -> Iterator[tuple[str, Any]]:
    for process in trace.processes[:1]:
        settings = process.catalogue.meta.get("settings")
        yield from settings.items() if isinstance(settings, dict) else ()
