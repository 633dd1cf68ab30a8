"""For sessions of TensorFlow 1: hooks for MonitoredSession and Estimator, sessions that record, filters of tfdbg."""

from __future__ import annotations

from tensorsleuth.integrations.session_hook import SleuthHook
from tensorsleuth.integrations.session_wrapper import (
    DumpingDebugWrapperSession,
    LocalCLIDebugWrapperSession,
    SleuthSession,
)
from tensorsleuth.integrations.tensor_filters import Datum, add_tensor_filter, has_inf_or_nan
from tensorsleuth.integrations.tfdbg_hooks import DumpingDebugHook, LocalCLIDebugHook, TensorBoardDebugHook

__all__ = [
    "Datum",
    "DumpingDebugHook",
    "DumpingDebugWrapperSession",
    "LocalCLIDebugHook",
    "LocalCLIDebugWrapperSession",
    "SleuthHook",
    "SleuthSession",
    "TensorBoardDebugHook",
    "add_tensor_filter",
    "has_inf_or_nan",
]
