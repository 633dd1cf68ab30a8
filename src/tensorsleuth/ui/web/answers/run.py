"""A run as a whole: the program, its end, and what was recorded or not."""

from __future__ import annotations

from typing import Any

from tensorsleuth.core.modes import Mode
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.query.ops import ARGUMENT
from tensorsleuth.trace.run_summary import mode_of
from tensorsleuth.ui.web.run.lanes import process_name
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Answer, Parameters
from tensorsleuth.ui.web.run.run_list import summary_json

_MODE_WORDS = {
    Mode.NO_TENSOR: "Only when tensors were computed. No shapes, no values.",
    Mode.SHAPE: "Dtypes and shapes of tensors. No values.",
    Mode.CURT_HEALTH: "Whether a tensor holds a NaN or an infinity. Not how many, no range, no values.",
    Mode.CONCISE_HEALTH: "How many NaN and infinities each tensor holds. No range, no values.",
    Mode.FULL_HEALTH: "How many values are NaN, ±∞, negative, zero, positive; the finite range. No mean, no values.",
    Mode.FULL_NUMERICS: "Counts, range, mean and standard deviation, of integers too. No values.",
    Mode.FULL_TENSOR: "Counts, range, mean, standard deviation, and the values themselves.",
    Mode.FLIGHT: "Nothing inside functions, except for calls with bad values, replayed and recorded in full.",
}


def answer(opened: OpenRun, asked: Parameters) -> Answer:
    """Return a Run (web/src/api/types.ts)."""
    trace, ops = opened.trace, opened.table.ops
    made = [op for op in ops if op.type != ARGUMENT]
    mode = mode_of(trace)
    return summary_json(opened) | {
        "modeWhat": _MODE_WORDS[mode] if mode is not None else "The run does not say which mode it was recorded in.",
        "records": recorded_fields(mode),
        "tensorflow": _tensorflow(trace.processes),
        "processes": [_process(one, number) for number, one in enumerate(trace.processes)],
        "firstStep": trace.steps[0] if trace.steps else None,
        "lastStep": trace.steps[-1] if trace.steps else None,
        "layers": list(dict.fromkeys(op.layer for op in made if op.layer)),
        "opTypes": sorted({op.type for op in made}),
        "files": [opened.sources.describe(number) for number in range(len(opened.sources.paths))],
        "notCovered": [entry for one in trace.processes for entry in _not_covered(one)],
        "trouble": trace.trouble,
        "cursor": opened.cursor,
        "live": opened.is_live,
    }


def recorded_fields(mode: Mode | None) -> dict[str, bool]:
    """Return the fields that a mode records of a tensor."""
    level = {None: Mode.FULL_TENSOR, Mode.FLIGHT: Mode.FULL_HEALTH}.get(mode, mode)
    assert level is not None
    return {
        "health": level >= Mode.CURT_HEALTH,
        "counts": level >= Mode.CONCISE_HEALTH,
        "range": level >= Mode.FULL_HEALTH,
        "shapes": level >= Mode.SHAPE,
        "values": level == Mode.FULL_TENSOR,
    }


def _tensorflow(processes: list[ProcessTrace]) -> str | None:
    versions = [process.catalogue.meta.get("tensorflow") for process in processes]
    return next((version for version in versions if isinstance(version, str)), None)


def _process(process: ProcessTrace, number: int) -> dict[str, Any]:
    meta = process.catalogue.meta
    devices = meta.get("devices")
    device = str(devices[0]) if isinstance(devices, list) and devices else None
    pid = meta.get("pid") if isinstance(meta.get("pid"), int) else None
    return {"number": number, "name": process_name(process, number), "pid": pid, "device": device}


def _not_covered(process: ProcessTrace) -> list[dict[str, Any]]:
    told = []
    for entry in process.catalogue.not_covered:
        site = process.catalogue.sites.get(entry["site"])
        frame = site.frame if site is not None else None
        where = f"{frame.file}:{frame.line}" if frame is not None else None
        told.append({"what": entry["what"], "why": entry["why"], "site": where})
    return told
