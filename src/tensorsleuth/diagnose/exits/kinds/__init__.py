"""The ways in which a program ends badly, one a file. A new file with `match(end) -> Told | None` is found by itself.

As among the causes, the surest is told.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from tensorsleuth.core.last_moments import LastMoments
from tensorsleuth.diagnose.exits.end import End, Told
from tensorsleuth.trace.reader import Trace

Kind = Callable[[End], Told | None]


@cache
def kinds() -> tuple[Kind, ...]:
    return tuple(import_module(f"{__name__}.{module.name}").match for module in iter_modules(__path__))


def explain(end: End) -> Told | None:
    """Return the cause of the end; None if the program ended well, or as somebody wanted."""
    told = [one for kind in kinds() if (one := kind(end)) is not None]
    return max(told, key=lambda one: one.confidence, default=None)


def last_moments(trace: Trace) -> LastMoments | None:
    """Return how a run ended, or where it is now; None if no process was recorded."""
    end = End.of(trace)
    return end.moments(explain(end)) if end is not None else None
