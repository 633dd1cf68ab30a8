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
        help="Log these: names of ops, layers, variables; op:, name:, layer:, variable:, gradient:, update: say which.",
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
    """--watch, --watch-every; what they mean is what watch() does."""
    return with_options(function, _OPTIONS)


def watch_arguments(watched: Sequence[str], every: int) -> list[dict[str, Any]]:
    """The arguments of watch, one for each; raises where it would refuse them."""
    if not watched:
        return []
    with threads_without_signals():  # NumPy starts some, and a signal to us could kill us in one of them
        from tensorsleuth.live.watch.options import make_watch_request

    for tensors in watched:
        make_watch_request(tensors, every, None)
    return [{"tensors": tensors, "every": every} for tensors in watched]
