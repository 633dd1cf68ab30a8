"""The lines under a program that has ended."""

from __future__ import annotations

from collections.abc import Mapping

from tensorsleuth.core.exit_status import Ending, stopped_by
from tensorsleuth.core.formatting import duration, of, printable
from tensorsleuth.ui.terminal.summary import Summary

SEPARATOR = " · "
NAME = 9  # columns of our name, and the space around it


def sentence(program: str, ending: Ending, summary: Summary | None) -> str:
    """train.py finished (exit 0) in 41 s · 500 steps · 301,422 tensors watched"""
    return SEPARATOR.join([f"{printable(program)} {_how(ending)}", *_numbers(summary)])


def folded(sentence: str, width: int) -> str:
    """Its parts in as many lines as they need, below each other; behind our name, which `terminal.say` puts there."""
    lines = [""]
    for part in sentence.split(SEPARATOR):
        joined = f"{lines[-1]}{SEPARATOR}{part}" if lines[-1] else part
        lines = [*lines[:-1], joined] if len(joined) <= width - NAME or not lines[-1] else [*lines, part]
    return f"\n{'':{NAME}}".join(lines)


def hints(commands: Mapping[str, str], width: int) -> str:
    """The commands to type next, each with what it shows: in a line, or where that is too long in a line each."""
    line = "      ".join(f" {printable(command)}   {text}" for command, text in commands.items())
    if len(line) <= width:
        return line
    longest = max(len(printable(command)) for command in commands)
    beside = longest + 4 + max(map(len, commands.values())) <= width
    between = f"{'':3}" if beside else f"\n{'':5}"
    column = longest if beside else 0
    return "\n".join(f" {printable(command):{column}}{between}{text}" for command, text in commands.items())


def _how(ending: Ending) -> str:
    took = duration(ending.seconds)
    if ending.signal_name:
        return f"{stopped_by(ending.signal_name)} after {took}"
    if ending.exit_code:
        return f"failed (exit {ending.exit_code}) after {took}"
    return f"finished (exit 0) in {took}"


def _numbers(summary: Summary | None) -> list[str]:
    if summary is None or summary.events is None:
        return []
    steps = [of(summary.steps, "step")] if summary.steps else []
    bad = [f"{of(summary.bad, 'bad one')}"] if summary.bad else []
    logged = [f"{of(summary.logged, 'message')} logged"] if summary.logged else []
    return [*steps, f"{of(summary.events, 'tensor')} watched", *bad, *logged]
