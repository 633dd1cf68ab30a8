"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from tensorsleuth.trace.storage import run_folder

F = TypeVar("F", bound=Callable[..., Any])


def with_options(function: F, options: Sequence[Callable[[F], F]]) -> F:
    """A command with these options, which its help has in this order."""
    for option in reversed(options):
        function = option(function)
    return function


def _logdir(ctx: click.Context, option: click.Parameter, value: str | None) -> Path:
    return run_folder.logdir(value)


def logdir(function: F) -> F:
    """--logdir, handed over as a Path."""
    text = "Where runs are kept.  [default: $SLEUTH_LOGDIR, else ./sleuth_runs]"
    return click.option("--logdir", metavar="DIR", callback=_logdir, help=text)(function)


def as_json(function: F) -> F:
    """--json, handed over as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for other programs.")(function)


def quiet(function: F) -> F:
    """--quiet: leave out the closing lines."""
    return click.option("--quiet", is_flag=True, help="Print no output of tensorsleuth at the end.")(function)
