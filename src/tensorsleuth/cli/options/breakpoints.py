"""Break points, as options of a command; checked before any program starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from tensorsleuth.cli.options.common import F, with_options
from tensorsleuth.cli.program.child import threads_without_signals

_OPTIONS = (
    click.option(
        "--break",
        "conditions",
        multiple=True,
        metavar="CONDITION",
        help="Break when a tensor meets this condition, such as 'nan > 0' or 'grad_norm > 100'. Several: any of them.",
    ),
    click.option(
        "--break-on",
        multiple=True,
        metavar="REGEX",
        help="Only of these: names of ops, layers, variables; op:, name:, layer:, variable:, gradient: say which.",
    ),
    click.option(
        "--then",
        default="pause",
        show_default=True,
        metavar="ACTION",
        help="What to do there: pause, stop, record (or record:N, the next N steps in full), save.",
    ),
)


def break_options(function: F) -> F:
    """--break, --break-on, --then; what they mean is what break_when() does."""
    return with_options(function, _OPTIONS)


def break_arguments(conditions: Sequence[str], on: Sequence[str], then: str) -> list[dict[str, Any]]:
    """The arguments of break_when, one for each condition; raises where it would refuse them."""
    if not conditions:
        return []
    with threads_without_signals():  # NumPy starts some, and a signal to us could kill us in one of them
        from tensorsleuth.live.breakpoints.breakpoint import make_breakpoint

    wanted = list(on) or None
    for condition in conditions:
        make_breakpoint(condition, wanted, then, None)
    return [{"condition": condition, "on": wanted, "then": then} for condition in conditions]
