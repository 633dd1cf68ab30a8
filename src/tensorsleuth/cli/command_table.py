"""The names of the commands. Each command is the object `command` in the module of its name, imported when needed."""

from __future__ import annotations

from importlib import import_module

import click

COMMAND_NAMES = (
    *(
        "run",
        "why",
        "memory",
        "profile",
        "attention",
        "layers",
        "view",
        "report",
        "debug",
        "demo",
        "save-step",
        "replay",
    ),
    *("data", "runs", "info", "rm", "doctor"),
)


def load_command(name: str) -> click.Command | None:
    if name not in COMMAND_NAMES:
        return None
    command = import_module(f"tensorsleuth.cli.commands.{name.replace('-', '_')}").command
    assert isinstance(command, click.Command)
    return command
