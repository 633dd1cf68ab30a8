"""The checks, one in each file. A new file with a class `CHECK` is found automatically."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from tensorsleuth.data.check import DataCheck


@cache
def checks() -> tuple[type[DataCheck], ...]:
    return tuple(import_module(f"{__name__}.{module.name}").CHECK for module in iter_modules(__path__))
