"""The closing words on stderr when a watched program has ended."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tensorsleuth.cli.output import summaries
from tensorsleuth.cli.output.next_steps import next_commands
from tensorsleuth.core.exit_status import Ending
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.ui.terminal import closing, console


def close(run: Path, program: Sequence[str], ending: Ending) -> None:
    """Print how it went, why, and the next commands."""
    name = program[1] if program[0] == "-m" else {"-c": "the command", "-": "stdin"}.get(program[0], program[0])
    if (run / run_folder.TENSORFLOW_SEEN).exists():
        _say(closing.sentence(name, ending, summaries.summarize(run)))
        _judge(run)
    else:
        _say(closing.sentence(name, ending, None))
        console.say("nothing was recorded: the program never imported TensorFlow.")


def _say(sentence: str) -> None:
    console.say(closing.folded(sentence, console.width()))


def _judge(run: Path) -> None:
    """The cause, without being asked; a trace that cannot be read costs a line, never the program's exit code."""
    from tensorsleuth.diagnose.report import diagnose
    from tensorsleuth.trace.reader import Trace
    from tensorsleuth.ui.terminal.verdict import verdict

    try:
        trace = Trace(run)
        found = diagnose(trace)
    except Exception as error:
        console.note(f" no verdict: {type(error).__name__}: {error}")
        hint_at(next_commands(run))
        return
    console.remark(verdict(found))
    if found.verdict != "unknown":
        hint_at(next_commands(run, found, attention=trace.inside().attention))


def hint_at(commands: dict[str, str]) -> None:
    """Print a hint at the findings, if there are any."""
    if commands:
        console.note(closing.hints(commands, console.width()))
