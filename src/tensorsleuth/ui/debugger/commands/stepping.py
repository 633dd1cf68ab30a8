"""Commands to go forward: run, cont, step, until. A live program runs on; in a recorded run they move the selection."""

from __future__ import annotations

import numpy as np

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.ui.debugger import filters
from tensorsleuth.ui.debugger.command import Arguments, Command, option
from tensorsleuth.ui.debugger.debugger import Debugger
from tensorsleuth.ui.debugger.live_program import ProgramGone
from tensorsleuth.ui.debugger.live_run import go_to_pause, pause_place
from tensorsleuth.ui.debugger.result import CommandResult, TextBlock, Tone, message_result
from tensorsleuth.ui.debugger.tensor_description import describe_tensor


def run(debugger: Debugger, arguments: Arguments) -> CommandResult:
    if arguments.till_filter_pass:
        return _until(debugger, filters.join_words(arguments.till_filter_pass) or "")
    if debugger.live is not None:
        if arguments.times > 1:
            return _until(debugger, f"step >= {_live_step(debugger) + arguments.times}")
        return _resume(debugger, "continue")
    return _advance_steps(debugger, arguments.times)


def _advance_steps(debugger: Debugger, times: int) -> CommandResult:
    """Go to the first tensor of a later training step."""
    steps = debugger.everything.health["step"]
    now = int(steps[debugger.place()]) if debugger.place() >= 0 else -1
    found = np.flatnonzero(steps >= max(now, -1) + times)
    if not len(found):
        return message_result(
            f"the run has no step {now + times}: it was recorded up to step {int(steps.max(initial=-1))}"
        )
    return go_to(debugger, int(found[0]))


def continue_(debugger: Debugger, arguments: Arguments) -> CommandResult:
    if debugger.live is not None:
        return _resume(debugger, "continue")
    event = debugger.next_alert()
    return message_result("no bad tensor after this one", Tone.GOOD) if event is None else selected_tensor(debugger)


def step(debugger: Debugger, arguments: Arguments) -> CommandResult:
    if debugger.live is not None:
        return _resume(debugger, "step")
    place = debugger.place() + arguments.times
    if place >= len(debugger.everything):
        return message_result("this is the last tensor that was recorded")
    return go_to(debugger, max(place, 0))


def until(debugger: Debugger, arguments: Arguments) -> CommandResult:
    if not arguments.filter:
        raise SleuthError("until needs a filter. For example: until max > 1e4")
    return _until(debugger, arguments.filter)


def _until(debugger: Debugger, text: str) -> CommandResult:
    if debugger.live is not None:
        debugger.live.ask("until", filter=text)
        return _wait_for_pause(debugger)
    found = np.flatnonzero(filters.evaluate_filter(text, debugger.everything))
    later = found[found > debugger.place()]
    if not len(later):
        before = f"; {len(found):,} before it" if len(found) else ""
        return message_result(f"no tensor after this one passes {text!r}{before}")
    return go_to(debugger, int(later[0]))


def go_to(debugger: Debugger, place: int) -> CommandResult:
    """Select a tensor, and return its description."""
    debugger.select_place(place)
    return selected_tensor(debugger)


def selected_tensor(debugger: Debugger) -> CommandResult:
    """Return the description of the selected tensor."""
    assert debugger.focus is not None
    one = describe_tensor(debugger.focus)
    title = f"#{debugger.place()}  {one.name}  {one.op}  {one.kind}  {one.when}  {one.line or ''}".rstrip()
    return CommandResult(
        (TextBlock(title, Tone.TITLE), TextBlock(one.health, Tone.BAD if one.bad else Tone.PLAIN)), moved=True
    )


def where(debugger: Debugger, arguments: Arguments) -> CommandResult:
    if debugger.live is not None:
        status = debugger.live.ask("status")
        go_to_pause(debugger, status)
        return pause_status(status)
    if debugger.focus is None:
        return message_result("no tensor is selected yet: next, step, find TEXT")
    return selected_tensor(debugger)


# ---- a live program


def _resume(debugger: Debugger, do: str) -> CommandResult:
    debugger.require_live().ask(do)
    return _wait_for_pause(debugger)


def _wait_for_pause(debugger: Debugger) -> CommandResult:
    try:
        status = debugger.require_live().wait_for_pause(debugger.seconds_to_pause)
    except ProgramGone:
        debugger.live = None
        return message_result("the program has ended. Its recording is open here", Tone.GOOD)
    go_to_pause(debugger, status)
    return pause_status(status)


def _live_step(debugger: Debugger) -> int:
    step = pause_place(debugger.require_live().ask("status")).get("step")
    return step if isinstance(step, int) else 0


def pause_status(status: dict[str, object]) -> CommandResult:
    """Return the state of a live program, and why it paused."""
    if status.get("state") != "paused":
        return message_result("the program is running and has not paused yet. To ask again: where", Tone.GOOD)
    place = pause_place(status)
    step = f"step {place['step']}" if place.get("step") is not None else None
    line = f"{place['file']}:{place['line']}" if place.get("file") else None
    parts = (place.get("name"), place.get("op"), place.get("layer"), step, line)
    title = TextBlock("paused at " + "  ".join(str(part) for part in parts if part), Tone.TITLE)
    return CommandResult(
        (title, *((TextBlock(str(status["why"]), Tone.BAD),) if status.get("why") else ())), moved=True
    )


def stop(debugger: Debugger, arguments: Arguments) -> CommandResult:
    debugger.require_live().ask("stop")
    return message_result("asked the program to stop")


COMMANDS = (
    Command(
        "run",
        run,
        "Go to the next training step, or to a tensor that passes a filter. A live program runs on until it pauses.",
        (
            option("-f", "--till_filter_pass", help="to the next tensor that passes this filter: 'nan > 0'", nargs="+"),
            option("-t", "--times", help="the number of steps to go", type=int, default=1),
        ),
        ("r",),
        "run -f has_inf_or_nan",
    ),
    Command(
        "cont",
        continue_,
        "Go to the next bad tensor. A live program runs on until it pauses.",
        aliases=("c", "continue"),
    ),
    Command(
        "step",
        step,
        "Go to the next tensor. A live program runs to its next training step.",
        (option("-t", "--times", help="the number of tensors to go", type=int, default=1),),
        ("s",),
    ),
    Command("until", until, "Go to the next tensor that passes a filter.", raw="filter", example="until abs_max > 1e4"),
    Command("where", where, "Print the selected tensor. In a live program, print where it is paused."),
    Command("stop", stop, "Stop the live program."),
)
