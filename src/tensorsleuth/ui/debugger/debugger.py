"""The debugger's state: a run, the tensor that is looked at, where one came from, and the live program, if any."""

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
from tensorsleuth.ui.debugger.listing import Listing, Wish, make
from tensorsleuth.ui.debugger.live_program import Live
from tensorsleuth.ui.debugger.margins import Margins
from tensorsleuth.ui.debugger.result import Result, Text

ALERTS = Wish(filter="has_inf_or_nan")
PATIENCE = 30.0  # seconds that a command waits for a live program to pause again
MOST_BACK = 1000  # tensors to go back to


class Debugger:
    """Commands change it and answer; it prints nothing."""

    def __init__(self, trace: Trace, live: Live | None = None) -> None:
        self.trace = trace
        self.live = live
        self.patience = PATIENCE
        self.focus: TensorEvent | None = None
        self.listing: Listing = make(self.everything, Wish())
        self._back: list[TensorEvent] = []

    def do(self, line: str) -> Result:
        """Run a line that was typed. What is wrong with it is raised as a SleuthError."""
        from tensorsleuth.ui.debugger.line import parse

        command, arguments = parse(line)
        return self._help(command) if arguments is None else command.action(self, arguments)

    def _help(self, command: Command) -> Result:
        return Result((Text(command.help),))

    # ---- the run

    @cached_property
    def everything(self) -> Tensors:
        """All tensors; a place in it is the number that lists show."""
        return self.trace.tensors()

    @cached_property
    def diagnosis(self) -> Diagnosis:
        return diagnose(self.trace)

    @cached_property
    def alerts(self) -> Array:
        """The places of all bad tensors."""
        return np.flatnonzero(self.everything.health["bad"])

    @cached_property
    def margins(self) -> Margins:
        return Margins(self.everything)

    def replace(self, trace: Trace) -> None:
        """Go on with the same run, read again: it has grown."""
        self.trace = trace
        for made in ("everything", "diagnosis", "alerts", "margins"):
            vars(self).pop(made, None)
        self.listing = make(self.everything, self.listing.wish)

    def ask(self, wish: Wish) -> Listing:
        """Make a list, and keep it as the one that is shown."""
        self.listing = make(self.everything, wish)
        return self.listing

    # ---- the tensor that is looked at

    def go(self, event: TensorEvent) -> None:
        """Look at another tensor; `back` returns."""
        if self.focus is not None:
            self._back = [*self._back, self.focus][-MOST_BACK:]
        self.focus = event

    def look(self, event: TensorEvent) -> None:
        """Look at another tensor in passing: `back` does not return here."""
        self.focus = event

    def back(self) -> bool:
        """Look at the one before again; whether there was one."""
        if not self._back:
            return False
        self.focus = self._back.pop()
        return True

    def go_to_place(self, place: int) -> TensorEvent:
        event = self.everything[place]
        self.go(event)
        return event

    def place(self, event: TensorEvent | None = None) -> int:
        """The number of a tensor in lists, of the one looked at where none is given; -1 where it has none."""
        event = event if event is not None else self.focus
        if event is None or event.number < 0:
            return -1
        before = self.trace.processes[: event.op.process]
        return event.number + sum(len(process.events) for process in before)

    def next_alert(self, towards: int = 1) -> TensorEvent | None:
        """Go to the bad tensor after the one that is looked at, or before it."""
        here = self.place()
        found = self.alerts[self.alerts > here] if towards > 0 else self.alerts[self.alerts < here][::-1]
        return self.go_to_place(int(found[0])) if len(found) else None

    def birth(self, finding: Finding | None = None) -> TensorEvent | None:
        """The tensor that a finding is about, of the first where none is given; else the first bad one."""
        finding = finding or next(iter(self.diagnosis.findings), None)
        born = self._told(finding) if finding is not None else None
        return born if born is not None else self.everything.first_bad()

    def _told(self, finding: Finding) -> TensorEvent | None:
        name, bad = finding.name.rpartition(":")[0] or finding.name, self.everything.health["bad"]
        same = self.everything.words(lambda op: op.name in (finding.name, name) and op.type == finding.op).astype(bool)
        if finding.step is not None:
            same &= self.everything.health["step"] == finding.step
        if finding.iteration is not None:
            same &= self.everything.health["iteration"] == finding.iteration
        found = np.flatnonzero(same & bad) if (same & bad).any() else np.flatnonzero(same)
        return self.everything[int(found[0])] if len(found) else None

    def attached(self) -> Live:
        """The live program, or a sentence on how to get one."""
        if self.live is None:
            raise SleuthError("no program is attached. Start it with sleuth run --break …, then: sleuth debug --attach")
        return self.live
