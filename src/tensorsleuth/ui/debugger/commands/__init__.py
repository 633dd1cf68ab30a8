"""The commands of the debugger, a group a file. A new file here with `COMMANDS` is found by itself."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from tensorsleuth.ui.debugger.command import Command


@cache
def all_commands() -> tuple[Command, ...]:
    """Every command, by group."""
    groups = sorted(module.name for module in iter_modules(__path__))
    return tuple(command for group in groups for command in import_module(f"{__name__}.{group}").COMMANDS)


@cache
def by_name() -> dict[str, Command]:
    """Commands by each of the names that they can be typed as."""
    return {name: command for command in all_commands() for name in (command.name, *command.aliases)}
