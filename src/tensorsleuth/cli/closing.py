"""What is said on stderr when a watched program has ended."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from tensorsleuth.cli import commands, summaries
from tensorsleuth.model.ending import Ending
from tensorsleuth.show import closing, terminal
from tensorsleuth.trace import rundir

NEXT = {"view": "see it in the browser", "debug": "walk it in the terminal", "why --all": "every finding"}


def close(run: Path, program: Sequence[str], ending: Ending) -> None:
    """One line on how it went, one on what to type next."""
    name = program[1] if program[0] == "-m" else {"-c": "the command", "-": "stdin"}.get(program[0], program[0])
    if (run / rundir.TENSORFLOW_SEEN).exists():
        terminal.say(closing.sentence(name, ending, summaries.summarize(run)))
        if _verdict(run) != "unknown":
            terminal.note(closing.hints(next_commands(run), terminal.width()))
    else:
        terminal.say(closing.sentence(name, ending, None))
        terminal.say("nothing was recorded: the program never imported TensorFlow.")


def _verdict(run: Path) -> str | None:
    """The cause, without being asked; a trace that cannot be read costs a line, never the program's exit code."""
    from tensorsleuth.diagnose.report import diagnose
    from tensorsleuth.show.verdict import verdict
    from tensorsleuth.trace.reader import Trace

    try:
        found = diagnose(Trace(run))
    except Exception as error:
        terminal.note(f" no verdict: {type(error).__name__}: {error}")
        return None
    terminal.remark(verdict(found))
    return found.verdict


def next_commands(run: Path) -> dict[str, str]:
    """What to type, and what it shows: it must find this run from where the user stands."""
    usual = rundir.logdir(None).absolute() == run.parent
    where = "" if usual else f" --logdir {shlex.quote(os.path.relpath(run.parent))}"
    return {f"sleuth {name}{where}": text for name, text in NEXT.items() if name.split()[0] in commands.NAMES}
