"""Watches TensorFlow programs, and says which line made the first bad value, and why.

import tensorsleuth
tensorsleuth.record("runs")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tensorsleuth import hooks, keras
    from tensorsleuth.breaking.api import Break, break_when
    from tensorsleuth.capture.api import (
        Recording,
        disable_dump_debug_info,
        enable_dump_debug_info,
        record,
        step,
    )
    from tensorsleuth.checking.api import expect
    from tensorsleuth.data.feature import Feature, Label
    from tensorsleuth.data.pipeline import checked
    from tensorsleuth.data.report import DataError, DataReport
    from tensorsleuth.data.schema import Schema
    from tensorsleuth.diagnose import diagnose
    from tensorsleuth.guarding.api import Guard, disable_check_numerics, enable_check_numerics, guard
    from tensorsleuth.model.errors import (
        BreakError,
        ExpectationError,
        ExpectationWarning,
        NumericsError,
        SleuthError,
    )
    from tensorsleuth.tokens.api import check_batch
    from tensorsleuth.trace.reader import Trace, open_trace
    from tensorsleuth.watching.api import Watch, watch
    from tensorsleuth.watching.log import log
    from tensorsleuth.watching.one_look import activations, gradients

    open = open_trace

__version__ = "0.1.0"

# Loaded when first used: reading a trace needs no TensorFlow, and recording no reader.
_HOMES = {
    "Break": ("tensorsleuth.breaking.api", "Break"),
    "BreakError": ("tensorsleuth.model.errors", "BreakError"),
    "DataError": ("tensorsleuth.data.report", "DataError"),
    "DataReport": ("tensorsleuth.data.report", "DataReport"),
    "Feature": ("tensorsleuth.data.feature", "Feature"),
    "ExpectationError": ("tensorsleuth.model.errors", "ExpectationError"),
    "ExpectationWarning": ("tensorsleuth.model.errors", "ExpectationWarning"),
    "Guard": ("tensorsleuth.guarding.api", "Guard"),
    "Label": ("tensorsleuth.data.feature", "Label"),
    "NumericsError": ("tensorsleuth.model.errors", "NumericsError"),
    "Recording": ("tensorsleuth.capture.api", "Recording"),
    "Schema": ("tensorsleuth.data.schema", "Schema"),
    "SleuthError": ("tensorsleuth.model.errors", "SleuthError"),
    "Trace": ("tensorsleuth.trace.reader", "Trace"),
    "Watch": ("tensorsleuth.watching.api", "Watch"),
    "activations": ("tensorsleuth.watching.one_look", "activations"),
    "break_when": ("tensorsleuth.breaking.api", "break_when"),
    "check_batch": ("tensorsleuth.tokens.api", "check_batch"),
    "checked": ("tensorsleuth.data.pipeline", "checked"),
    "diagnose": ("tensorsleuth.diagnose", ""),  # the package itself, which can be called
    "disable_check_numerics": ("tensorsleuth.guarding.api", "disable_check_numerics"),
    "disable_dump_debug_info": ("tensorsleuth.capture.api", "disable_dump_debug_info"),
    "enable_check_numerics": ("tensorsleuth.guarding.api", "enable_check_numerics"),
    "enable_dump_debug_info": ("tensorsleuth.capture.api", "enable_dump_debug_info"),
    "expect": ("tensorsleuth.checking.api", "expect"),
    "gradients": ("tensorsleuth.watching.one_look", "gradients"),
    "guard": ("tensorsleuth.guarding.api", "guard"),
    "hooks": ("tensorsleuth.hooks", ""),
    "keras": ("tensorsleuth.keras", ""),
    "log": ("tensorsleuth.watching.log", "log"),
    "open": ("tensorsleuth.trace.reader", "open_trace"),
    "record": ("tensorsleuth.capture.api", "record"),
    "step": ("tensorsleuth.capture.api", "step"),
    "watch": ("tensorsleuth.watching.api", "watch"),
}

__all__ = [
    "Break",
    "BreakError",
    "DataError",
    "DataReport",
    "ExpectationError",
    "ExpectationWarning",
    "Feature",
    "Guard",
    "Label",
    "NumericsError",
    "Recording",
    "Schema",
    "SleuthError",
    "Trace",
    "Watch",
    "activations",
    "break_when",
    "check_batch",
    "checked",
    "diagnose",
    "disable_check_numerics",
    "disable_dump_debug_info",
    "enable_check_numerics",
    "enable_dump_debug_info",
    "expect",
    "gradients",
    "guard",
    "hooks",
    "keras",
    "log",
    "open",
    "record",
    "step",
    "watch",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _HOMES[name]
    home = import_module(module)
    return getattr(home, attribute) if attribute else home


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
