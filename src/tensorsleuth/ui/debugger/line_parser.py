"""Parses a typed line into a command and its arguments."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.ui.debugger.command import Arguments, Command
from tensorsleuth.ui.debugger.commands import all_commands, by_name

HELP_FLAGS = ("-h", "--help")


def parse_line(line: str) -> tuple[Command, Arguments | None]:
    """Return the command and its arguments, or None as the arguments if the line asks for help."""
    line = line.strip().removeprefix(":")
    name, _, rest = line.partition(" ")
    if name.startswith("/"):
        name, rest = "find", line[1:]
    command = by_name().get(name)
    if command is None:
        raise SleuthError(_unknown(name))
    if rest.strip() in HELP_FLAGS:
        return command, None
    if command.raw:
        return command, Arguments(**{command.raw: rest.strip()})
    words = split_words(rest)
    return command, None if any(word in HELP_FLAGS for word in words) else command.parser.parse_args(words)


class QuotedWord(str):
    """A typed word without its quotes; `raw` has them."""

    raw: str


def split_words(text: str) -> list[str]:
    """Split as a shell does, but keep brackets together: `Log:0[0, :]`."""
    try:
        words = shlex.split(text, posix=False)
    except ValueError as error:
        raise SleuthError(f"{text!r} cannot be read: {str(error).lower()}. Close the quote or bracket.") from error
    joined: list[str] = []
    for word in words:
        if joined and joined[-1].count("[") > joined[-1].count("]"):
            joined[-1] += " " + word
        else:
            joined.append(word)
    return [_word(raw) for raw in joined]


def _word(raw: str) -> QuotedWord:
    quoted = len(raw) > 1 and raw[0] == raw[-1] and raw[0] in "'\""
    quoted_word = QuotedWord(raw[1:-1] if quoted else raw)
    quoted_word.raw = raw
    return quoted_word


def complete_line(line: str, names: Iterable[str]) -> str | None:
    """Return the completion of a line: a command for its first word, a tensor's name for its last."""
    head, space, last = line.rpartition(" ")
    if not space:
        found = [command.name for command in all_commands() if command.name.startswith(line)]
    else:
        head, last = (head + space + last[: last.rfind("`") + 1], last[last.rfind("`") + 1 :])
        found = [name for name in names if name.startswith(last)]
    return head * bool(space) + min(found, key=len) if found and last else None


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name, by_name(), 1)
    hint = f"Did you mean {near[0]}? See" if near else "See"
    return f"there is no command {name!r}. {hint}: help"
