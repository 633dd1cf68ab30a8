"""The cause, and the bad tensors one after the other: why, next, prev, back."""

from __future__ import annotations

from tensorsleuth.ui.debugger.command import Arguments, Command
from tensorsleuth.ui.debugger.commands.time import here
from tensorsleuth.ui.debugger.debugger import Debugger
from tensorsleuth.ui.debugger.result import Result, Tone, Verdict, say


def why(debugger: Debugger, arguments: Arguments) -> Result:
    diagnosis = debugger.diagnosis
    born = debugger.birth() if diagnosis.findings else None
    if born is not None:
        debugger.go(born)
    return Result((Verdict(diagnosis),), moved=born is not None)


def next_alert(debugger: Debugger, arguments: Arguments) -> Result:
    return _alert(debugger, 1)


def previous_alert(debugger: Debugger, arguments: Arguments) -> Result:
    return _alert(debugger, -1)


def _alert(debugger: Debugger, towards: int) -> Result:
    event = debugger.next_alert(towards)
    if event is None:
        return say(f"no bad tensor {'after' if towards > 0 else 'before'} this one", Tone.GOOD)
    return here(debugger)


def back(debugger: Debugger, arguments: Arguments) -> Result:
    return here(debugger) if debugger.back() else say("there is nothing to go back to")


COMMANDS = (
    Command("why", why, "Name the line where the first bad value was born, and go there."),
    Command("next", next_alert, "Go to the next bad tensor.", aliases=("n",)),
    Command("prev", previous_alert, "Go to the bad tensor before.", aliases=("p",)),
    Command("back", back, "Go back to the tensor selected before."),
)
