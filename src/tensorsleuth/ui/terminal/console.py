"""The output of tensorsleuth: answers on stdout, remarks on stderr."""

from __future__ import annotations

import io
import json
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


def say(sentence: str) -> None:
    """Print a remark on stderr, since the program owns stdout."""
    click.echo(f" {click.style('sleuth', bold=True)}  {sentence}", err=True)


def note(line: str) -> None:
    """Print a remark without our name in front."""
    click.echo(line, err=True)


def print_error(sentence: str) -> None:
    """Print why a command failed; wrap the lines on a terminal."""
    lines = sentence.splitlines() or [""]
    if sys.stderr.isatty():
        lines = [line for one in lines for line in _fold_line(one)]
    said = "\n".join(lines)
    click.echo(f"{click.style('sleuth:', fg='red', bold=True)} {said}", err=True)


def _fold_line(line: str) -> list[str]:
    """Fold a line, never inside a word, which may be a path."""
    room = max(width() - len("sleuth: "), 20)
    return textwrap.wrap(line, room, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False) or [""]


def show(renderable: RenderableType) -> None:
    """Print an answer, laid out for the width of the terminal."""
    from rich.console import Console

    _print(Console(highlight=False, width=width()), renderable)


def show_on_stderr(renderable: RenderableType) -> None:
    """Print on stderr, since the program owns stdout."""
    from rich.console import Console

    _print(Console(highlight=False, width=width(), stderr=True), renderable)


def _print(console: Console, renderable: RenderableType) -> None:
    """Print to a terminal, file or pipe. The latter get no trailing spaces."""
    if console.is_terminal:
        console.print(renderable)
        return
    with console.capture() as captured:
        console.print(renderable)
    console.file.write("\n".join(line.rstrip() for line in captured.get().split("\n")))


def width() -> int:
    """Return the columns of the terminal, or 80 without one."""
    return shutil.get_terminal_size().columns


def print_json(value: object) -> None:
    """Print an answer as JSON for other programs."""
    click.echo(json.dumps(value, indent=2))


def replace_unencodable() -> None:
    """In a locale without ⋅ or –, print a replacement rather than a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
