"""The ways in which a program ends badly, one a file.

A new file with `match(process_exit) -> ExitExplanation | None` is found by itself.

As among the causes, the explanation with the highest confidence is reported.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from tensorsleuth.core.run_end import RunEnd
from tensorsleuth.diagnose.exits.process_exit import ExitExplanation, ProcessExit
from tensorsleuth.trace.reader import Trace

ExitMatcher = Callable[[ProcessExit], ExitExplanation | None]


@cache
def kinds() -> tuple[ExitMatcher, ...]:
    return tuple(import_module(f"{__name__}.{module.name}").match for module in iter_modules(__path__))


def explain_exit(process_exit: ProcessExit) -> ExitExplanation | None:
    """Return the cause of the end; None if the program ended well, or as somebody wanted."""
    told = [one for kind in kinds() if (one := kind(process_exit)) is not None]
    return max(told, key=lambda one: one.confidence, default=None)


def run_end(trace: Trace) -> RunEnd | None:
    """Return how a run ended, or where it is now; None if no process was recorded."""
    end = ProcessExit.of_trace(trace)
    return end.run_end(explain_exit(end)) if end is not None else None
