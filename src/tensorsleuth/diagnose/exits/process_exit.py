"""The end of a program, gathered: how the process ended, what its threads were doing, how much memory there was."""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tensorsleuth.analyze.memory.account import MemoryAccount
from tensorsleuth.analyze.memory.buffer_rows import newest_rows
from tensorsleuth.core.catalog import Frame, Site
from tensorsleuth.core.finding import Evidence, Finding
from tensorsleuth.core.run_end import MemoryAtEnd, RunEnd, RunningOp, ThreadStack
from tensorsleuth.diagnose.exits.memory_at_end import memory_at_end
from tensorsleuth.diagnose.exits.thread_activity import ThreadActivity, source_line
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.query.query import process_indexes
from tensorsleuth.trace.reader import Trace
from tensorsleuth.trace.storage.fault_dumps import stacks_of
from tensorsleuth.trace.storage.files import open_regular
from tensorsleuth.trace.storage.run_folder import HANG_FILE, is_alive

STOP_SIGNALS = (
    "SIGINT",
    "SIGTERM",
    "SIGHUP",
    "SIGQUIT",
    "SIGUSR1",
    "SIGUSR2",
    "SIGALRM",
    "SIGPIPE",
)  # somebody wanted it
_MAX_HANG_FILE = 10_000
MAX_BUFFER_ROWS = 100_000  # of tensors' lives that are looked at, the newest


@dataclass(frozen=True)
class ExitExplanation:
    """The result of a kind of end."""

    cause: str
    confidence: float
    sentence: str  # without the place
    fix: str | None = None
    frame: Frame | None = None  # the line to look at, where it is not that of the op
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class UncaughtException:
    """An exception that nobody caught."""

    type: str
    message: str
    site: Site | None


class ProcessExit:
    """The end of one process of a run."""

    def __init__(self, trace: Trace, process: ProcessTrace) -> None:
        self.trace = trace
        self.process = process
        ended = trace.meta.get("ended")
        self.facts: dict[str, Any] = ended if isinstance(ended, dict) else {}

    @classmethod
    def of_trace(cls, trace: Trace) -> ProcessExit | None:
        """Return the end of the run's program: of the process in `run.json`, else of one that was cut short."""
        if not trace.processes:
            return None
        pid = trace.meta.get("pid")
        ranked = sorted(trace.processes, key=lambda one: (_pid(one) != pid, "ended" in one.catalogue.meta))
        return cls(trace, ranked[0])

    @property
    def exit(self) -> int | None:
        value = self.facts.get("exit")
        return value if isinstance(value, int) else None

    @property
    def signal(self) -> str | None:
        value = self.facts.get("signal")
        return value if isinstance(value, str) else None

    @property
    def alive(self) -> bool:
        """Return whether it is running, as far as this machine can tell."""
        elsewhere = self.process.catalogue.meta.get("host", platform.node()) != platform.node()
        return not self.facts and (elsewhere or is_alive(self.trace.path))

    @property
    def cut_short(self) -> bool:
        """Return whether it is gone and nobody saw it end."""
        return not self.facts and not self.recording_closed and not self.alive

    @property
    def recording_closed(self) -> bool:
        """Return whether the recording ended before the process did."""
        return "ended" in self.process.catalogue.meta

    @property
    def pid(self) -> int:
        return _pid(self.process)

    @cached_property
    def end_time(self) -> int:
        """Return the time of the end, by the clock of the rows; 0 if unknown."""
        time = self.facts.get("time", self.hang_notes.get("time"))
        return int(time * 1e9) - self.process.epoch if isinstance(time, float) and abs(time) < 1e10 else 0

    @cached_property
    def threads(self) -> ThreadActivity:
        return ThreadActivity(self.process, self.end_time, any(stack.called_by_tensorflow for stack in self.stacks))

    @property
    def running_op(self) -> RunningOp | None:
        """Return the op that was running: that of the main thread, unless only another thread was in one."""
        under_way = [one for one in self.threads.running_ops if not one.ended]
        return next((one for one in (*under_way, *self.threads.running_ops)), None)

    @cached_property
    def stacks(self) -> list[ThreadStack]:
        return self._faults[0]

    @property
    def fault(self) -> str | None:
        """Return Python's name of the fault."""
        return self._faults[1]

    @cached_property
    def _faults(self) -> tuple[list[ThreadStack], str | None]:
        return stacks_of(self.trace.path, self.pid)

    @property
    def crash_frame(self) -> Frame | None:
        """The program's own line in the thread that crashed."""
        return next((stack.frame for stack in self.stacks if stack.current and stack.frame is not None), None)

    @cached_property
    def hang_notes(self) -> dict[str, Any]:
        """Return the notes of `sleuth run` about a time in which nothing happened."""
        try:
            with open_regular(self.trace.path / HANG_FILE) as file:
                fact = json.loads(file.read(_MAX_HANG_FILE))
        except (OSError, ValueError, RecursionError):
            return {}
        return fact if isinstance(fact, dict) and isinstance(fact.get("time"), float) else {}

    @cached_property
    def quiet_seconds(self) -> float | None:
        """Seconds between the last row and the end."""
        rows = [part["time"][-1000:].max() for part in (self.process.events, self.process.calls) if len(part)]
        return max(0.0, (self.end_time - int(max(rows))) / 1e9) if rows and self.end_time else None

    @cached_property
    def account(self) -> MemoryAccount:
        """Return the account of the process's memory."""
        asked = process_indexes(self.trace)[self.trace.processes.index(self.process)]
        return MemoryAccount(asked, newest_rows(self.process, MAX_BUFFER_ROWS))

    @cached_property
    def memory(self) -> MemoryAtEnd:
        return memory_at_end(self.account, self.end_time, self.kernel_counters, self.exit == 0)

    @property
    def kernel_counters(self) -> dict[str, Any]:
        """Return the kernel's memory counters from `sleuth run`; `cli/program/oom.py` names the fields."""
        known = self.facts.get("memory")
        return known if isinstance(known, dict) else {}

    @property
    def stderr_lines(self) -> tuple[str, ...]:
        lines = self.facts.get("said")
        return tuple(line for line in lines if isinstance(line, str)) if isinstance(lines, list) else ()

    @cached_property
    def uncaught(self) -> UncaughtException | None:
        found = self.process.catalogue.meta.get("uncaught")
        if not isinstance(found, dict) or not isinstance(found.get("site"), int):
            return None
        site = self.process.catalogue.sites.get(found["site"])
        return UncaughtException(str(found.get("type")), str(found.get("message")), site)

    def frame(self, exit_explanation: ExitExplanation) -> Frame | None:
        """The line to show."""
        doing = self.running_op.innermost if self.running_op is not None else None
        if exit_explanation.frame is not None or doing is None or doing.file is None or doing.line is None:
            return exit_explanation.frame
        return Frame(doing.file, doing.line, doing.function or "?")

    @property
    def newest_call(self) -> int:
        """The number of the newest call."""
        return int(self.process.calls["call"].max(initial=0)) if len(self.process.calls) else 0

    def run_end(self, exit_explanation: ExitExplanation | None) -> RunEnd:
        """Return all of it in the form that is shown."""
        step = self.threads.step
        batch = self.process.batches.of_call(self.newest_call)
        when = ", ".join(part for part in (f"step {step}" if step is not None else "", str(batch or "")) if part)
        kind = exit_explanation.cause if exit_explanation is not None else self._exit_kind
        place = (self.exit, self.signal, step, when, self.quiet_seconds)
        shown = tuple(self.threads.running_ops), tuple(self.stacks), self.memory, self.stderr_lines
        return RunEnd(kind, exit_explanation.sentence if exit_explanation is not None else "", *place, *shown)

    @property
    def _exit_kind(self) -> str:
        if self.alive:
            return "running"
        if self.signal is not None:
            return "stopped"
        return "unknown" if self.exit is None else "exit" if self.exit else "finished"

    def _is_past(self, exit_explanation: ExitExplanation, doing: RunningOp | None) -> bool:
        """Return whether the last op had ended when a line of Python raised: its layer has no part in that."""
        return doing is not None and doing.ended and exit_explanation.frame is not None and self.uncaught is not None

    def finding(self, exit_explanation: ExitExplanation) -> Finding:
        frame, doing = self.frame(exit_explanation), self.running_op
        inner = doing.innermost if doing is not None else None
        batch = self.process.batches.of_call(self.newest_call)
        fit = {"phase": batch.phase.name.lower(), "epoch": batch.epoch, "batch": batch.batch} if batch else {}
        file, line = (frame.file, frame.line) if frame is not None else (None, None)
        return Finding(
            cause=exit_explanation.cause,
            confidence=exit_explanation.confidence,
            severity="error",
            summary=exit_explanation.sentence,
            file=file,
            line=line,
            function=frame.function if frame is not None else None,
            code=source_line(self.process, file, line),
            op=inner.op if inner is not None else "?",
            name=inner.name if inner is not None else "?",
            step=self.threads.step,
            iteration=None,
            fix=exit_explanation.fix,
            layer=inner.layer if inner is not None and not self._is_past(exit_explanation, doing) else None,
            call=self.newest_call,
            evidence=exit_explanation.evidence,
            **fit,  # type: ignore[arg-type]
        )


def _pid(process: ProcessTrace) -> int:
    pid = process.catalogue.meta.get("pid")
    return pid if isinstance(pid, int) else 0
