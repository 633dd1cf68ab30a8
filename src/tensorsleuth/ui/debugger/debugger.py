"""The state of the debugger: a run, the selected tensor and the earlier ones, and the live program, if any."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.finding import Diagnosis, Finding
from tensorsleuth.diagnose.report import diagnose
from tensorsleuth.trace.query.tensor_event import TensorEvent
from tensorsleuth.trace.query.tensors import Tensors
from tensorsleuth.trace.reader import Trace
from tensorsleuth.ui.debugger.command import Command
from tensorsleuth.ui.debugger.listing import Listing, ListOptions, make_listing
from tensorsleuth.ui.debugger.live_program import LiveConnection
from tensorsleuth.ui.debugger.margins import LineHealthIndex
from tensorsleuth.ui.debugger.result import CommandResult, TextBlock

ALERTS = ListOptions(filter="has_inf_or_nan")
SECONDS_TO_PAUSE = 30.0  # in which a live program must pause again, else a command returns
MAX_HISTORY = 1000  # tensors that `back` can return to


class Debugger:
    """Commands change this state and return answers. It prints nothing."""

    def __init__(self, trace: Trace, live_connection: LiveConnection | None = None) -> None:
        self.trace = trace
        self.live = live_connection
        self.seconds_to_pause = SECONDS_TO_PAUSE
        self.focus: TensorEvent | None = None
        self.listing: Listing = make_listing(self.everything, ListOptions())
        self._history: list[TensorEvent] = []

    def run_line(self, line: str) -> CommandResult:
        """Run a line that the user typed. Errors in it are raised as a SleuthError."""
        from tensorsleuth.ui.debugger.line_parser import parse_line

        command, arguments = parse_line(line)
        return self._help(command) if arguments is None else command.action(self, arguments)

    def _help(self, command: Command) -> CommandResult:
        return CommandResult((TextBlock(command.help),))

    # ---- the run

    @cached_property
    def everything(self) -> Tensors:
        """All tensors. An index into them is the number that lists show."""
        return self.trace.tensors()

    @cached_property
    def diagnosis(self) -> Diagnosis:
        return diagnose(self.trace)

    @cached_property
    def alerts(self) -> Array:
        """The numbers of all bad tensors."""
        return np.flatnonzero(self.everything.health["bad"])

    @cached_property
    def margins(self) -> LineHealthIndex:
        return LineHealthIndex(self.everything)

    def reload(self, trace: Trace) -> None:
        """Continue with the same run, read again because it has grown."""
        self.trace = trace
        for made in ("everything", "diagnosis", "alerts", "margins"):
            vars(self).pop(made, None)
        self.listing = make_listing(self.everything, self.listing.options)

    def show_list(self, list_options: ListOptions) -> Listing:
        """Make a list, and keep it as the shown one."""
        self.listing = make_listing(self.everything, list_options)
        return self.listing

    # ---- the selected tensor

    def select(self, event: TensorEvent) -> None:
        """Select another tensor; `back` returns from it."""
        if self.focus is not None:
            self._history = [*self._history, self.focus][-MAX_HISTORY:]
        self.focus = event

    def preview(self, event: TensorEvent) -> None:
        """Select another tensor for a moment; `back` does not return to it."""
        self.focus = event

    def back(self) -> bool:
        """Select the previous tensor again; return whether there was one."""
        if not self._history:
            return False
        self.focus = self._history.pop()
        return True

    def select_place(self, place: int) -> TensorEvent:
        event = self.everything[place]
        self.select(event)
        return event

    def place(self, event: TensorEvent | None = None) -> int:
        """Return the number of a tensor in lists (by default the selected one), or -1 if it has none."""
        event = event if event is not None else self.focus
        if event is None or event.number < 0:
            return -1
        before = self.trace.processes[: event.op.process]
        return event.number + sum(len(process.events) for process in before)

    def next_alert(self, towards: int = 1) -> TensorEvent | None:
        """Go to the bad tensor after the selected one, or before it."""
        here = self.place()
        found = self.alerts[self.alerts > here] if towards > 0 else self.alerts[self.alerts < here][::-1]
        return self.select_place(int(found[0])) if len(found) else None

    def origin(self, finding: Finding | None = None) -> TensorEvent | None:
        """Return the tensor that a finding (by default the first) is about, else the first bad tensor."""
        finding = finding or next(iter(self.diagnosis.findings), None)
        born = self._tensor_of(finding) if finding is not None else None
        return born if born is not None else self.everything.first_bad()

    def _tensor_of(self, finding: Finding) -> TensorEvent | None:
        name, bad = finding.name.rpartition(":")[0] or finding.name, self.everything.health["bad"]
        same = self.everything.words(lambda op: op.name in (finding.name, name) and op.type == finding.op).astype(bool)
        if finding.step is not None:
            same &= self.everything.health["step"] == finding.step
        if finding.iteration is not None:
            same &= self.everything.health["iteration"] == finding.iteration
        found = np.flatnonzero(same & bad) if (same & bad).any() else np.flatnonzero(same)
        return self.everything[int(found[0])] if len(found) else None

    def require_live(self) -> LiveConnection:
        """Return the live program, or raise an error that says how to get one."""
        if self.live is None:
            raise SleuthError("no program is attached. Start it with sleuth run --break …, then: sleuth debug --attach")
        return self.live
