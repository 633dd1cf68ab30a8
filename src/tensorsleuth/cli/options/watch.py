"""Watch options of a command, checked before any program starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from tensorsleuth.cli.options.common import F, with_options
from tensorsleuth.cli.program.child import threads_without_signals

_OPTIONS = (
    click.option(
        "--watch",
        "watched",
        multiple=True,
        metavar="REGEX",
        help="Watch these ops, layers, variables, or with a prefix op:, name:, layer:, variable:, gradient:, update:.",
    ),
    click.option(
        "--watch-every",
        default=1,
        show_default=True,
        metavar="N",
        type=click.IntRange(min=1),
        help="Sample the watched tensors every N training steps.",
    ),
)


def watch_options(function: F) -> F:
    """Add --watch and --watch-every, which mean the same as in watch()."""
    return with_options(function, _OPTIONS)


def watch_arguments(watched: Sequence[str], every: int) -> list[dict[str, Any]]:
    """Return the arguments of watch, one set for each name. Raises the errors that watch would raise."""
    if not watched:
        return []
    with threads_without_signals():  # NumPy starts threads, and a signal in one could kill this process
        from tensorsleuth.live.watch.options import make_watch_request

    for tensors in watched:
        make_watch_request(tensors, every, None)
    return [{"tensors": tensors, "every": every} for tensors in watched]
