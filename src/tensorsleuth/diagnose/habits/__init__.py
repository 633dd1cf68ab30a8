"""What a program does without any bad value, and should not: one habit a file.

A new file with `find(process) -> Iterator[Habit]` is found by itself. A habit that makes results wrong or memory grow
without end is a problem; what only costs time or memory is a note, which makes no healthy run ill.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from tensorsleuth.diagnose.habit import Habit, as_finding
from tensorsleuth.model.finding import Finding
from tensorsleuth.trace.process import ProcessTrace

Find = Callable[[ProcessTrace], Iterator[Habit]]


@cache
def habits() -> tuple[Find, ...]:
    return tuple(import_module(f"{__name__}.{module.name}").find for module in iter_modules(__path__))


def habits_of(process: ProcessTrace) -> list[Finding]:
    """All that was found in a process: wrong results first, then what grows, the surest first, then notes."""
    found = [habit for find in habits() for habit in find(process)]
    ranked = sorted(found, key=lambda habit: (habit.is_note, not habit.is_wrong, -habit.confidence, -habit.harm))
    return [as_finding(process, habit) for habit in ranked]
