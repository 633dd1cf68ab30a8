"""The lines printed after a program has ended."""

from __future__ import annotations

from collections.abc import Mapping

from tensorsleuth.core.exit_status import ExitStatus, signal_words
from tensorsleuth.core.formatting import duration, plural, printable
from tensorsleuth.ui.terminal.run_statistics import RunStatistics

SEPARATOR = " · "
NAME_WIDTH = 9  # columns of our name and a space


def closing_sentence(program: str, exit_status: ExitStatus, run_statistics: RunStatistics | None) -> str:
    """Return a line such as `train.py finished (exit 0) in 41 s · 500 steps · 301,422 tensors watched`."""
    return SEPARATOR.join([f"{printable(program)} {_how(exit_status)}", *_numbers(run_statistics)])


def fold_sentence(sentence: str, width: int) -> str:
    """Fold a sentence at its parts into lines, indented below our name, which `console.say` prints."""
    lines = [""]
    for part in sentence.split(SEPARATOR):
        joined = f"{lines[-1]}{SEPARATOR}{part}" if lines[-1] else part
        lines = [*lines[:-1], joined] if len(joined) <= width - NAME_WIDTH or not lines[-1] else [*lines, part]
    return f"\n{'':{NAME_WIDTH}}".join(lines)


def command_hints(commands: Mapping[str, str], width: int) -> str:
    """Return the next commands, each with what it shows: on one line, or one on each line if that is too long."""
    line = "      ".join(f" {printable(command)}   {text}" for command, text in commands.items())
    if len(line) <= width:
        return line
    longest = max(len(printable(command)) for command in commands)
    beside = longest + 4 + max(map(len, commands.values())) <= width
    between = f"{'':3}" if beside else f"\n{'':5}"
    column = longest if beside else 0
    return "\n".join(f" {printable(command):{column}}{between}{text}" for command, text in commands.items())


def _how(exit_status: ExitStatus) -> str:
    took = duration(exit_status.seconds)
    if exit_status.signal_name:
        return f"{signal_words(exit_status.signal_name)} after {took}"
    if exit_status.exit_code:
        return f"failed (exit {exit_status.exit_code}) after {took}"
    return f"finished (exit 0) in {took}"


def _numbers(run_statistics: RunStatistics | None) -> list[str]:
    if run_statistics is None or run_statistics.events is None:
        return []
    steps = [plural(run_statistics.steps, "step")] if run_statistics.steps else []
    bad = [f"{plural(run_statistics.bad, 'bad one')}"] if run_statistics.bad else []
    logged = [f"{plural(run_statistics.logged, 'message')} logged"] if run_statistics.logged else []
    return [*steps, f"{plural(run_statistics.events, 'tensor')} watched", *bad, *logged]
