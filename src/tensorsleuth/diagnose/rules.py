"""What a program does without any bad value, and should not: one rule a file, beside what only that rule needs.

A new file in one of FOLDERS with `find(process) -> Iterator[Habit]` is found by itself. A habit that makes results
wrong or memory grow without end is a problem; what only costs time or memory is a note, which makes no healthy run ill.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pkgutil import walk_packages

from tensorsleuth.core.finding import Finding
from tensorsleuth.diagnose import attention, inputs, leaks, training
from tensorsleuth.diagnose.rule import Habit, as_finding
from tensorsleuth.trace.process.process import ProcessTrace

Find = Callable[[ProcessTrace], Iterator[Habit]]
FOLDERS = (attention, inputs, leaks, training)


@cache
def habits() -> tuple[Find, ...]:
    """In the order of their files' names, wherever these lie."""
    found = [one for folder in FOLDERS for one in walk_packages(folder.__path__, f"{folder.__name__}.")]
    names = sorted((one.name for one in found if not one.ispkg), key=lambda name: name.rpartition(".")[2])
    return tuple(module.find for module in map(import_module, names) if hasattr(module, "find"))


def habits_of(process: ProcessTrace) -> list[Finding]:
    """All that was found in a process: wrong results first, then what grows, the surest first, then notes."""
    found = [habit for find in habits() for habit in find(process)]
    ranked = sorted(found, key=lambda habit: (habit.is_note, not habit.is_wrong, -habit.confidence, -habit.harm))
    return [as_finding(process, habit) for habit in ranked]
