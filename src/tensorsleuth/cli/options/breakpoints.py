"""Break-point options of a command, checked before any program starts."""

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
        help="Break when a tensor meets this condition, such as 'nan > 0' or 'grad_norm > 100'. May be repeated.",
    ),
    click.option(
        "--break-on",
        multiple=True,
        metavar="REGEX",
        help="Only at these ops, layers or variables, or with a prefix op:, name:, layer:, variable:, gradient:.",
    ),
    click.option(
        "--then",
        default="pause",
        show_default=True,
        metavar="ACTION",
        help="What to do at a break: pause, stop, record (or record:N, the next N steps in full), save.",
    ),
)


def break_options(function: F) -> F:
    """Add --break, --break-on and --then, which mean the same as in break_when()."""
    return with_options(function, _OPTIONS)


def break_arguments(conditions: Sequence[str], on: Sequence[str], then: str) -> list[dict[str, Any]]:
    """Return the arguments of break_when, one set for each condition. Raises the errors that break_when would raise."""
    if not conditions:
        return []
    with threads_without_signals():  # NumPy starts threads, and a signal in one could kill this process
        from tensorsleuth.live.breakpoints.breakpoint import make_breakpoint

    wanted = list(on) or None
    for condition in conditions:
        make_breakpoint(condition, wanted, then, None)
    return [{"condition": condition, "on": wanted, "then": then} for condition in conditions]
