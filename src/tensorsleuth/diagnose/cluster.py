"""Several workers that train together: which one broke first, and whether the others received the bad value."""

from __future__ import annotations

import platform
import re
from dataclasses import replace

from tensorsleuth.core.finding import Finding
from tensorsleuth.core.ops.kinds import COLLECTIVES
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.process.remote_rows import CoordinatorTrace
from tensorsleuth.trace.storage.run_folder import is_running

WORKER_LOST = "worker-lost"
_TASK = re.compile(r"/job:(\w+)/replica:\d+/task:(\d+)/")
ProcessFindings = list[tuple[ProcessTrace, list[Finding]]]


def merge_findings(process_findings: ProcessFindings) -> list[Finding]:
    """Return the findings of all processes, root first, each with its worker and the effect on the others."""
    if not any(task_name(process) for process, _ in process_findings):
        return [finding for _, findings in process_findings for finding in findings]
    told = [
        replace(
            finding, worker=finding.worker or task_name(process), others=_others(process, finding, process_findings)
        )
        for process, findings in process_findings
        for finding in findings
    ]
    return sorted(told, key=_sort_key)


def worker_of(one: ObservedTensor) -> str | None:
    """Return the worker that ran a function for the coordinator, e.g. `worker 1`."""
    device = (
        one.process.device_of(one.row) if one.row is not None and isinstance(one.process, CoordinatorTrace) else None
    )
    found = _TASK.match(device or "")
    return f"{found.group(1)} {found.group(2)}" if found is not None else None


def task_name(process: ProcessTrace) -> str | None:
    """Return the task, e.g. `worker 1 of 2`; None for a process outside of a cluster."""
    task = process.catalogue.meta.get("task")
    if not isinstance(task, dict):
        return None
    of = task.get("of")
    return f"{_short_name(process)} of {of}" if isinstance(of, int) and of > 1 else _short_name(process)


def _short_name(process: ProcessTrace) -> str:
    task = process.catalogue.meta["task"]
    return f"{task.get('type')} {task.get('index')}"


def _sort_key(finding: Finding) -> tuple[bool, int]:
    """Return the sort key: those that only lost other workers come last; else the earlier step comes first."""
    return finding.cause == WORKER_LOST, finding.step if finding.step is not None else -1


def _others(process: ProcessTrace, finding: Finding, process_findings: ProcessFindings) -> str | None:
    said = [finding.others] if finding.others else []
    for other, findings in process_findings:
        if other is not process and task_name(other):
            end = f"; it was cut short {_last_step(other)}" if _was_cut_short(other) else ""
            fate = _fate(other, findings, "" if finding.cause == WORKER_LOST else " too")
            said.append(f"{_short_name(other)} {fate}{end}")
    return "; ".join(said) or None


def _fate(process: ProcessTrace, findings: list[Finding], too: str) -> str:
    born = [one for one in findings if one.severity == "error" and one.cause != WORKER_LOST]
    if born:
        return f"broke{_at_step(born[0].step)}{too}"
    row = next(process.bad_rows(), None)
    if row is None:
        return "stayed healthy"
    caught = "caught it from the all-reduce" if _was_received(process) else "went bad"
    return f"{caught}{_at_step(process.step_of(row))}"


def _was_received(process: ProcessTrace) -> bool:
    """Return whether the first call with a bad tensor got it from a collective."""
    first = next(process.bad_rows())
    call = process.call_of(first)
    for row in process.bad_rows():
        if process.call_of(row) != call:
            return False
        tensor = process.tensor(row["tensor"])
        if tensor is not None and tensor.type in COLLECTIVES:
            return True
    return False


def _was_cut_short(process: ProcessTrace) -> bool:
    """Return whether the process is gone without having ended; False for a process of another machine."""
    meta = process.catalogue.meta
    pid, started = meta.get("pid"), meta.get("started")
    if "ended" in meta or meta.get("host") != platform.node():
        return False
    return isinstance(pid, int) and isinstance(started, float) and not is_running(pid, started)


def _last_step(process: ProcessTrace) -> str:
    last = int(process.calls["step"].max(initial=-1))
    return f"in step {last}" if last >= 0 else "before its first step"


def _at_step(step: int | None) -> str:
    return f" at step {step}" if step is not None and step >= 0 else ""
