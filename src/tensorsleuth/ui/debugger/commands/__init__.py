"""The commands of the debugger, one group in each file. A new file here with `COMMANDS` is found automatically."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from tensorsleuth.ui.debugger.command import Command


@cache
def all_commands() -> tuple[Command, ...]:
    """Return every command, by group."""
    groups = sorted(module.name for module in iter_modules(__path__))
    return tuple(command for group in groups for command in import_module(f"{__name__}.{group}").COMMANDS)


@cache
def by_name() -> dict[str, Command]:
    """Return the commands by each of their names."""
    return {name: command for command in all_commands() for name in (command.name, *command.aliases)}
