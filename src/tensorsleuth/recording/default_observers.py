"""Observers that every recording of a model has. They stand above this folder: `tensorsleuth/__init__.py` adds them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

FACTORIES: list[Callable[[], Any]] = []  # each creates one observer, see `observer.py`
