"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from tensorsleuth.trace.storage import run_folder

F = TypeVar("F", bound=Callable[..., Any])


def with_options(function: F, options: Sequence[Callable[[F], F]]) -> F:
    """Return a command with these options, listed in this order in its help."""
    for option in reversed(options):
        function = option(function)
    return function


def _logdir(ctx: click.Context, option: click.Parameter, value: str | None) -> Path:
    return run_folder.logdir(value)


def logdir(function: F) -> F:
    """Add --logdir, passed on as a Path."""
    text = "The folder of the runs.  [default: $SLEUTH_LOGDIR, else ./sleuth_runs]"
    return click.option("--logdir", metavar="DIR", callback=_logdir, help=text)(function)


def as_json(function: F) -> F:
    """Add --json, passed on as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for other programs.")(function)


def quiet(function: F) -> F:
    """Add --quiet, which leaves out the closing lines."""
    return click.option("--quiet", is_flag=True, help="Print nothing of tensorsleuth at the end.")(function)
