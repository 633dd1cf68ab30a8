"""Watches TensorFlow programs, and says which line made the first bad value, and why.

import tensorsleuth
tensorsleuth.record("runs")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tensorsleuth.core.version import VERSION
from tensorsleuth.recording import default_observers

if TYPE_CHECKING:
    from tensorsleuth import hooks, keras
    from tensorsleuth.core.errors import BreakError, ExpectationError, ExpectationWarning, NumericsError, SleuthError
    from tensorsleuth.data.feature import Feature, Label
    from tensorsleuth.data.pipeline.api import checked
    from tensorsleuth.data.report import DataError, DataReport
    from tensorsleuth.data.schema import Schema
    from tensorsleuth.data.tokens.api import check_batch
    from tensorsleuth.diagnose import diagnose
    from tensorsleuth.live.breakpoints.api import Break, break_when
    from tensorsleuth.live.expect.api import expect
    from tensorsleuth.live.guard.api import Guard, disable_check_numerics, enable_check_numerics, guard
    from tensorsleuth.live.watch.api import Watch, watch
    from tensorsleuth.live.watch.log import log
    from tensorsleuth.live.watch.model_table import activations, gradients
    from tensorsleuth.recording.api import Recording, disable_dump_debug_info, enable_dump_debug_info, record, step
    from tensorsleuth.trace.reader import Trace, open_trace

    open = open_trace

__version__ = VERSION

# Loaded when first used: reading a trace needs no TensorFlow, and recording no reader.
_HOMES = {
    "Break": ("tensorsleuth.live.breakpoints.api", "Break"),
    "BreakError": ("tensorsleuth.core.errors", "BreakError"),
    "DataError": ("tensorsleuth.data.report", "DataError"),
    "DataReport": ("tensorsleuth.data.report", "DataReport"),
    "Feature": ("tensorsleuth.data.feature", "Feature"),
    "ExpectationError": ("tensorsleuth.core.errors", "ExpectationError"),
    "ExpectationWarning": ("tensorsleuth.core.errors", "ExpectationWarning"),
    "Guard": ("tensorsleuth.live.guard.api", "Guard"),
    "Label": ("tensorsleuth.data.feature", "Label"),
    "NumericsError": ("tensorsleuth.core.errors", "NumericsError"),
    "Recording": ("tensorsleuth.recording.api", "Recording"),
    "Schema": ("tensorsleuth.data.schema", "Schema"),
    "SleuthError": ("tensorsleuth.core.errors", "SleuthError"),
    "Trace": ("tensorsleuth.trace.reader", "Trace"),
    "Watch": ("tensorsleuth.live.watch.api", "Watch"),
    "activations": ("tensorsleuth.live.watch.model_table", "activations"),
    "break_when": ("tensorsleuth.live.breakpoints.api", "break_when"),
    "check_batch": ("tensorsleuth.data.tokens.api", "check_batch"),
    "checked": ("tensorsleuth.data.pipeline.api", "checked"),
    "diagnose": ("tensorsleuth.diagnose", ""),  # the package itself, which can be called
    "disable_check_numerics": ("tensorsleuth.live.guard.api", "disable_check_numerics"),
    "disable_dump_debug_info": ("tensorsleuth.recording.api", "disable_dump_debug_info"),
    "enable_check_numerics": ("tensorsleuth.live.guard.api", "enable_check_numerics"),
    "enable_dump_debug_info": ("tensorsleuth.recording.api", "enable_dump_debug_info"),
    "expect": ("tensorsleuth.live.expect.api", "expect"),
    "gradients": ("tensorsleuth.live.watch.model_table", "gradients"),
    "guard": ("tensorsleuth.live.guard.api", "guard"),
    "hooks": ("tensorsleuth.hooks", ""),
    "keras": ("tensorsleuth.keras", ""),
    "log": ("tensorsleuth.live.watch.log", "log"),
    "open": ("tensorsleuth.trace.reader", "open_trace"),
    "record": ("tensorsleuth.recording.api", "record"),
    "step": ("tensorsleuth.recording.api", "step"),
    "watch": ("tensorsleuth.live.watch.api", "watch"),
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


def _layer_stats() -> Any:
    from tensorsleuth.live.layer_stats.observer import layer_stats_observer

    return layer_stats_observer()


default_observers.FACTORIES.append(_layer_stats)


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _HOMES[name]
    home = import_module(module)
    return getattr(home, attribute) if attribute else home


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
