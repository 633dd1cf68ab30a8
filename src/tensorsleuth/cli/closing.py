"""What is said on stderr when a watched program has ended."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tensorsleuth.cli import summaries
from tensorsleuth.cli.next_steps import next_commands
from tensorsleuth.model.ending import Ending
from tensorsleuth.show import closing, terminal
from tensorsleuth.trace import rundir


def close(run: Path, program: Sequence[str], ending: Ending) -> None:
    """How it went, why, and what to type next."""
    name = program[1] if program[0] == "-m" else {"-c": "the command", "-": "stdin"}.get(program[0], program[0])
    if (run / rundir.TENSORFLOW_SEEN).exists():
        _say(closing.sentence(name, ending, summaries.summarize(run)))
        _judge(run)
    else:
        _say(closing.sentence(name, ending, None))
        terminal.say("nothing was recorded: the program never imported TensorFlow.")


def _say(sentence: str) -> None:
    terminal.say(closing.folded(sentence, terminal.width()))


def _judge(run: Path) -> None:
    """The cause, without being asked; a trace that cannot be read costs a line, never the program's exit code."""
    from tensorsleuth.diagnose.report import diagnose
    from tensorsleuth.show.verdict import verdict
    from tensorsleuth.trace.reader import Trace

    try:
        trace = Trace(run)
        found = diagnose(trace)
    except Exception as error:
        terminal.note(f" no verdict: {type(error).__name__}: {error}")
        hint_at(next_commands(run))
        return
    terminal.remark(verdict(found))
    if found.verdict != "unknown":
        hint_at(next_commands(run, found, attention=trace.inside().attention))


def hint_at(commands: dict[str, str]) -> None:
    """Where there are any."""
    if commands:
        terminal.note(closing.hints(commands, terminal.width()))
