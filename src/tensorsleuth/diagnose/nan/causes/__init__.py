"""The causes that are known, one a file. A new file with `match(case) -> Explanation | None` is found by itself.

A cause answers None unless what it needs to see is there. Its confidence says how sure it is: 0.9 where nothing else
explains what was seen, 0.6 where it fits. The surest story is told; where none fits, the origin is shown without one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from tensorsleuth.diagnose.nan.case import Case, Explanation

CauseMatcher = Callable[[Case], Explanation | None]


@cache
def causes() -> tuple[CauseMatcher, ...]:
    return tuple(import_module(f"{__name__}.{module.name}").match for module in iter_modules(__path__))


def explain(case: Case) -> tuple[Case, Explanation] | None:
    """Return the explanation with the highest confidence, and its op: the case's own, or one fused into it."""
    told = [(one, story) for one in case.candidates for match in causes() if (story := match(one)) is not None]
    return max(told, key=lambda pair: pair[1].confidence, default=None)
