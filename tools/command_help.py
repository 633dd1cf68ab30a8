"""The page of the site with the help of every command, as the commands print it. Needs no TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator

import click

from tensorsleuth.cli.main import cli

WIDTH = 100
HEAD = """# Help of every command

This is what `--help` prints. [Commands](../commands.md) has the same in a table, with links to the guides.
"""


def page() -> str:
    """Return the page, in Markdown."""
    parts = [f"## {name}\n```text\n{text}\n```\n" for name, text in helps(cli, "sleuth")]
    return "\n".join([HEAD, *parts])


def helps(command: click.Command, name: str, above: click.Context | None = None) -> Iterator[tuple[str, str]]:
    """Yield the name and the help of a command, and of those under it."""
    word = name.rpartition(" ")[2]
    context = click.Context(command, info_name=word, parent=above, terminal_width=WIDTH, **command.context_settings)
    yield name, command.get_help(context)
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            assert found is not None
            yield from helps(found, f"{name} {below}", context)
