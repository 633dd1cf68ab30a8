"""Commands for the cause, and for going from one bad tensor to the next: why, next, prev, back."""

from __future__ import annotations

from tensorsleuth.ui.debugger.command import Arguments, Command
from tensorsleuth.ui.debugger.commands.stepping import selected_tensor
from tensorsleuth.ui.debugger.debugger import Debugger
from tensorsleuth.ui.debugger.result import CommandResult, Tone, VerdictBlock, message_result


def why(debugger: Debugger, arguments: Arguments) -> CommandResult:
    diagnosis = debugger.diagnosis
    born = debugger.origin() if diagnosis.findings else None
    if born is not None:
        debugger.select(born)
    return CommandResult((VerdictBlock(diagnosis),), moved=born is not None)


def next_alert(debugger: Debugger, arguments: Arguments) -> CommandResult:
    return _alert(debugger, 1)


def previous_alert(debugger: Debugger, arguments: Arguments) -> CommandResult:
    return _alert(debugger, -1)


def _alert(debugger: Debugger, towards: int) -> CommandResult:
    event = debugger.next_alert(towards)
    if event is None:
        return message_result(f"no bad tensor {'after' if towards > 0 else 'before'} this one", Tone.GOOD)
    return selected_tensor(debugger)


def back(debugger: Debugger, arguments: Arguments) -> CommandResult:
    return selected_tensor(debugger) if debugger.back() else message_result("no tensor was selected before this one")


COMMANDS = (
    Command("why", why, "Name the line that made the first bad value, and go there."),
    Command("next", next_alert, "Go to the next bad tensor.", aliases=("n",)),
    Command("prev", previous_alert, "Go to the previous bad tensor.", aliases=("p",)),
    Command("back", back, "Go back to the previously selected tensor."),
)
