"""Going on: run, cont, step, until. A live program runs; in a recorded one they move through what it did."""

from __future__ import annotations

import numpy as np

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.ui.debugger import filters
from tensorsleuth.ui.debugger.command import Arguments, Command, option
from tensorsleuth.ui.debugger.debugger import Debugger
from tensorsleuth.ui.debugger.following import follow, place_of
from tensorsleuth.ui.debugger.live_program import Gone
from tensorsleuth.ui.debugger.portrait import portrait
from tensorsleuth.ui.debugger.result import Result, Text, Tone, say


def run(debugger: Debugger, arguments: Arguments) -> Result:
    if arguments.till_filter_pass:
        return _until(debugger, filters.joined(arguments.till_filter_pass) or "")
    if debugger.live is not None:
        if arguments.times > 1:
            return _until(debugger, f"step >= {_live_step(debugger) + arguments.times}")
        return _let_go(debugger, "continue")
    return _steps_on(debugger, arguments.times)


def _steps_on(debugger: Debugger, times: int) -> Result:
    """To the first tensor of a later training step."""
    steps = debugger.everything.health["step"]
    now = int(steps[debugger.place()]) if debugger.place() >= 0 else -1
    found = np.flatnonzero(steps >= max(now, -1) + times)
    if not len(found):
        return say(f"the run has no step {now + times}: it was recorded up to step {int(steps.max(initial=-1))}")
    return went(debugger, int(found[0]))


def continue_(debugger: Debugger, arguments: Arguments) -> Result:
    if debugger.live is not None:
        return _let_go(debugger, "continue")
    event = debugger.next_alert()
    return say("no bad tensor after this one", Tone.GOOD) if event is None else here(debugger)


def step(debugger: Debugger, arguments: Arguments) -> Result:
    if debugger.live is not None:
        return _let_go(debugger, "step")
    place = debugger.place() + arguments.times
    if place >= len(debugger.everything):
        return say("this is the last tensor that was recorded")
    return went(debugger, max(place, 0))


def until(debugger: Debugger, arguments: Arguments) -> Result:
    if not arguments.filter:
        raise SleuthError("until what? Give a filter: until max > 1e4")
    return _until(debugger, arguments.filter)


def _until(debugger: Debugger, text: str) -> Result:
    if debugger.live is not None:
        debugger.live.ask("until", filter=text)
        return _paused(debugger)
    found = np.flatnonzero(filters.passing(text, debugger.everything))
    later = found[found > debugger.place()]
    if not len(later):
        before = f"; {len(found):,} before it" if len(found) else ""
        return say(f"no tensor after this one passes {text!r}{before}")
    return went(debugger, int(later[0]))


def went(debugger: Debugger, place: int) -> Result:
    """Look at a tensor, and say which it is."""
    debugger.go_to_place(place)
    return here(debugger)


def here(debugger: Debugger) -> Result:
    """Return the selected tensor."""
    assert debugger.focus is not None
    one = portrait(debugger.focus)
    title = f"#{debugger.place()}  {one.name}  {one.op}  {one.kind}  {one.when}  {one.line or ''}".rstrip()
    return Result((Text(title, Tone.TITLE), Text(one.words, Tone.BAD if one.bad else Tone.PLAIN)), moved=True)


def where(debugger: Debugger, arguments: Arguments) -> Result:
    if debugger.live is not None:
        status = debugger.live.ask("status")
        follow(debugger, status)
        return told(status)
    if debugger.focus is None:
        return say("no tensor is selected yet: next, step, find TEXT")
    return here(debugger)


# ---- a live program


def _let_go(debugger: Debugger, do: str) -> Result:
    debugger.attached().ask(do)
    return _paused(debugger)


def _paused(debugger: Debugger) -> Result:
    try:
        status = debugger.attached().settled(debugger.patience)
    except Gone:
        debugger.live = None
        return say("the program went on to its end. What it recorded is here", Tone.GOOD)
    follow(debugger, status)
    return told(status)


def _live_step(debugger: Debugger) -> int:
    step = place_of(debugger.attached().ask("status")).get("step")
    return step if isinstance(step, int) else 0


def told(status: dict[str, object]) -> Result:
    """Return the state of a live program, and why it paused."""
    if status.get("state") != "paused":
        return say("the program runs. It has not paused yet: where", Tone.GOOD)
    place = place_of(status)
    step = f"step {place['step']}" if place.get("step") is not None else None
    line = f"{place['file']}:{place['line']}" if place.get("file") else None
    parts = (place.get("name"), place.get("op"), place.get("layer"), step, line)
    title = Text("paused at " + "  ".join(str(part) for part in parts if part), Tone.TITLE)
    return Result((title, *((Text(str(status["why"]), Tone.BAD),) if status.get("why") else ())), moved=True)


def stop(debugger: Debugger, arguments: Arguments) -> Result:
    debugger.attached().ask("stop")
    return say("the program was told to stop")


COMMANDS = (
    Command(
        "run",
        run,
        "Go to the next training step, or to where a filter holds. A live program runs on until it pauses.",
        (
            option("-f", "--till_filter_pass", help="to the next tensor for which this holds: 'nan > 0'", nargs="+"),
            option("-t", "--times", help="so many steps on", type=int, default=1),
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
        (option("-t", "--times", help="so many tensors on", type=int, default=1),),
        ("s",),
    ),
    Command(
        "until", until, "Go to the next tensor for which a filter holds.", raw="filter", example="until abs_max > 1e4"
    ),
    Command("where", where, "Print the selected tensor; of a live program, where it is paused."),
    Command("stop", stop, "Stop the live program."),
)
