"""Why a run has no layer statistics."""

from __future__ import annotations

from typing import Any

from tensorsleuth.core.error_text import first_line
from tensorsleuth.core.modes import Mode
from tensorsleuth.trace.reader import Trace
from tensorsleuth.trace.series.layer_stats import LayerStatistics
from tensorsleuth.trace.storage import run_folder

MODES_WITH_VALUES = range(Mode.CURT_HEALTH, Mode.FULL_TENSOR + 1)
INSIDE_PREFIX = "the inside of "
RECORD_AGAIN = "Record it again: sleuth run program.py"


def explain_missing_stats(trace: Trace, layer_statistics: LayerStatistics, what: str) -> str:
    """Return a sentence or two: what was recorded instead, which setting prevented it, what to do."""
    name = trace.path.name
    if layer_statistics:
        return f"{name} shows no {what}: {_recorded_instead(trace, layer_statistics, what)}"
    metas = [process.catalogue.meta for process in trace.processes]
    why = next((said for meta in metas if (said := _setting(meta))), None)
    if why is None and layer_statistics.trouble:
        why = " ".join(layer_statistics.trouble)
    return f"{name} shows nothing of the inside of a model: {why or _steps(trace)}"


def unrecorded_functions(trace: Trace) -> list[str]:
    """Return the functions whose inside was not recorded, and why."""
    return [
        f"{entry['what']} was not recorded ({first_line(str(entry['why']))})"
        for entry in trace.not_covered
        if str(entry["what"]).startswith(INSIDE_PREFIX)
    ]


def _recorded_instead(trace: Trace, layer_statistics: LayerStatistics, what: str) -> str:
    names = (
        ("layer output", len(layer_statistics.layers)),
        ("gradient", len(layer_statistics.gradients)),
        ("input", len(layer_statistics.inputs)),
    )
    there = [f"{many:,} {name}{'' if many == 1 else 's'}" for name, many in names if many]
    were = "was" if sum(many for _, many in names) <= 1 else "were"
    hint = "no softmax was found whose outputs weight values (docs/inside.md)"
    reason = hint if what == "attention" else "the ops were in no layer or name scope"
    unseen = unrecorded_functions(trace)
    if unseen:  # the statistics may be missing there
        return f"{'; '.join(unseen[:3])}. Elsewhere {', '.join(there) or 'nothing'} {were} recorded."
    return f"{reason}; {', '.join(there) or 'nothing else'} {were} recorded.{_not_covered(trace)}"


def _setting(meta: dict[str, Any]) -> str | None:
    """Return the setting of the recording that turned the samples off."""
    settings = meta.get("settings")
    settings = settings if isinstance(settings, dict) else {}
    mode, every = str(settings.get("mode", "")), settings.get("inside_every")
    if mode in Mode.__members__ and Mode[mode] not in MODES_WITH_VALUES:
        return f"it was recorded in the mode {mode}, which records no values. {RECORD_AGAIN} with --mode FULL_HEALTH."
    if "inside_every" not in settings:
        return f"it was recorded by a version that did not record this. {RECORD_AGAIN}"
    if not every:
        return f"inside_every was 0. {RECORD_AGAIN} with --inside-every 100."
    if meta.get("probe") not in (None, "host"):
        return f"its tensors were not recorded by the native library (probe {meta['probe']}). See sleuth doctor."
    return None


def _steps(trace: Trace) -> str:
    if run_folder.is_alive(trace.path):
        return "it is still running, and no training step has been sampled yet. Try again in a moment."
    nothing = "no model was called, and nothing trained, in a step that was to be sampled (docs/inside.md)."
    return f"{nothing}{_not_covered(trace)}"


def _not_covered(trace: Trace) -> str:
    why = [f"{entry['what']} ({first_line(str(entry['why']))})" for entry in trace.not_covered]
    return f" Not covered: {'; '.join(why[:3])}." if why else ""
