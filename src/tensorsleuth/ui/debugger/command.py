"""A command of the debugger: its names, its arguments, its function."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.ui.debugger.result import CommandResult

if TYPE_CHECKING:
    from tensorsleuth.ui.debugger.debugger import Debugger

Arguments = argparse.Namespace
Action = Callable[["Debugger", Arguments], CommandResult]


@dataclass(frozen=True)
class Option:
    """An argument, as `argparse.add_argument` takes it."""

    names: tuple[str, ...]
    help: str
    settings: tuple[tuple[str, Any], ...] = ()


def option(*names: str, help: str, **settings: Any) -> Option:
    return Option(names, help, tuple(settings.items()))


@dataclass(frozen=True)
class Command:
    """A command that a user can type. `raw` is the name of an argument that takes the rest of the line unchanged."""

    name: str
    action: Action
    summary: str
    options: tuple[Option, ...] = ()
    aliases: tuple[str, ...] = ()
    example: str = ""
    raw: str | None = None

    @property
    def parser(self) -> argparse.ArgumentParser:
        parser = _Parser(prog=self.name, add_help=False, description=self.summary)
        parser.formatter_class = lambda prog: argparse.HelpFormatter(prog, max_help_position=24, width=78)
        for one in self.options:
            parser.add_argument(*one.names, help=one.help, **dict(one.settings))
        return parser

    @property
    def help(self) -> str:
        """Return the text of `--help`."""
        aliases = f"\nAlso: {', '.join(self.aliases)}" if self.aliases else ""
        example = f"\nFor example: {self.example}" if self.example else ""
        usage = f"usage: {self.name} {self.raw.upper()}\n\n{self.summary}\n" if self.raw else self.parser.format_help()
        return usage.rstrip() + aliases + example


class _Parser(argparse.ArgumentParser):
    """Raises an error, so that a wrong command does not end the program as in argparse."""

    color = False  # for Python 3.14: our own renderer prints the help

    def error(self, message: str) -> NoReturn:
        raise SleuthError(f"{self.prog}: {message}. See: {self.prog} --help")
