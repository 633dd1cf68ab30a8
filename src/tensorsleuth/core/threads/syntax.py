"""Parses Python source in a program of several threads.

Up to Python 3.12, all threads share the counter by which `ast.parse` checks its own recursion. If a garbage collection
in the middle of a parse lets another thread parse, the first fails with "AST constructor recursion depth mismatch".
So these functions parse one text at a time, without collections.
"""

from __future__ import annotations

import ast
import os

from tensorsleuth.core.threads.gc_pause import GcPauseLock

_lock = GcPauseLock()


def parse_module(text: str) -> ast.Module:
    """Return the syntax tree of a file, or of part of one. Raise what `ast.parse` raises."""
    with _lock:
        return ast.parse(text)


def parse_expression(text: str) -> ast.Expression:
    """Return the syntax tree of an expression. Raise what `ast.parse` raises."""
    with _lock:
        return ast.parse(text, mode="eval")


def _reset_in_child() -> None:
    """Make a new lock: the thread that held the old one may not exist in a forked child."""
    global _lock
    _lock = GcPauseLock()


os.register_at_fork(after_in_child=_reset_in_child)
