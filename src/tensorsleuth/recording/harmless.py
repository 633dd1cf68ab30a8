"""Turns our own errors into one line on stderr, so that they never harm the program."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_said: set[str] = set()


def complain(message: str, again: bool = False) -> None:
    """Print a message to stderr, unless it was printed before."""
    if message not in _said or again:
        _said.add(message)
        with contextlib.suppress(Exception):  # stderr may be closed
            print(f"tensorsleuth: {message}", file=sys.stderr, flush=True)


def harmless(action: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R | None:
    """Run our own code and report its errors without raising them. SLEUTH_DEBUG shows the traceback."""
    try:
        return action(*args, **kwargs)
    except Exception as error:
        complain(f"something was not recorded ({type(error).__name__}: {error}); the program goes on.")
        if os.environ.get("SLEUTH_DEBUG"):
            traceback.print_exc()
        return None
