"""The closing words on stderr when a watched program has ended."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tensorsleuth.cli.output.next_steps import next_commands
from tensorsleuth.core.exit_status import ExitStatus
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.ui.terminal import closing_lines, console

if TYPE_CHECKING:
    from tensorsleuth.trace.reader import Trace


def print_closing(run: Path, program: Sequence[str], exit_status: ExitStatus) -> None:
    """Print how the program ended, the cause, and the next commands."""
    name = program[1] if program[0] == "-m" else {"-c": "the command", "-": "stdin"}.get(program[0], program[0])
    if (run / run_folder.TENSORFLOW_SEEN_FILE).exists():
        from tensorsleuth.trace.reader import Trace
        from tensorsleuth.trace.run_summary import summarize_trace

        trace = Trace(run)
        _say(closing_lines.closing_sentence(name, exit_status, summarize_trace(trace)))
        _judge(trace)
    else:
        _say(closing_lines.closing_sentence(name, exit_status, None))
        console.say("nothing was recorded: the program never imported TensorFlow.")


def _say(sentence: str) -> None:
    console.say(closing_lines.fold_sentence(sentence, console.width()))


def _judge(trace: Trace) -> None:
    """Print the cause. A trace that cannot be read costs a line, but does not change the program's exit code."""
    from tensorsleuth.diagnose.report import diagnose
    from tensorsleuth.ui.terminal.verdict import verdict

    try:
        found = diagnose(trace)
    except Exception as error:
        console.note(f" no verdict: {type(error).__name__}: {error}")
        print_hints(next_commands(trace.path))
        return
    console.show_on_stderr(verdict(found))
    if not found.unjudged:
        print_hints(next_commands(trace.path, found, attention=trace.inside().attention))


def print_hints(commands: dict[str, str]) -> None:
    """Print a hint at the findings, if there are any."""
    if commands:
        console.note(closing_lines.command_hints(commands, console.width()))
