"""Loads the native library into a process that runs TensorFlow, and states its functions for ctypes."""

from __future__ import annotations

import ctypes
import sys
from ctypes import (
    POINTER,
    c_char_p,
    c_double,
    c_int,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
    py_object,
)
from functools import cache
from pathlib import Path
from typing import Any

LIBRARY = Path(__file__).with_name("libsleuth.so")
INSTRUCTION_SETS = ("portable", "AVX2", "AVX-512")  # enum Isa in kernels/health.h


def trace_paths(folder: Any) -> tuple[bytes, ...]:
    """The paths that a plan begins with."""
    names = ("events.bin", "calls.bin", "shapes.bin", "value_rows.bin", "values.bin")
    return tuple(str(folder / name).encode() for name in names)


class SessionPlan(ctypes.Structure):
    """SessionPlan in recording.h."""

    _fields_ = [
        ("events", c_char_p),
        ("calls", c_char_p),
        ("shapes", c_char_p),
        ("value_rows", c_char_p),
        ("values", c_char_p),
        ("session", c_uint64),
        ("event_chunk_rows", c_uint64),
        ("event_chunks", c_uint64),
        ("event_window", c_uint64),
        ("call_chunk_rows", c_uint64),
        ("call_chunks", c_uint64),
        ("value_bytes", c_uint64),
        ("call_window", c_uint64),
    ]


class CallRow(ctypes.Structure):
    """Call in rows.h."""

    _fields_ = [
        ("time", c_uint64),
        ("call", c_uint64),
        ("step", c_int64),
        ("op", c_uint32),
        ("thread", c_uint16),
        ("inputs_count", c_uint8),
        ("kind", c_uint8),
        ("duration", c_uint64),
        ("tf_step", c_uint64),
        ("inputs", c_uint64 * 6),
    ]


class TensorView(ctypes.Structure):
    """TensorView in recording.h."""

    _fields_ = [
        ("data", c_void_p),
        ("elements", c_uint64),
        ("bytes", c_uint64),
        ("dtype", c_int),
        ("rank", c_int),
        ("dims", c_int64 * 8),
    ]


class RowPlace(ctypes.Structure):
    """The place of a row, as in recording.h."""

    _fields_ = [
        ("step", c_uint64),
        ("tensor", c_uint32),
        ("iteration", c_uint32),
        ("frame", c_uint32),
        ("kind", c_uint8),
    ]


class NativeHealth(ctypes.Structure):
    """Health in rows.h."""

    _fields_ = [
        ("elements", c_uint64),
        ("neg_inf", c_uint64),
        ("pos_inf", c_uint64),
        ("nan", c_uint64),
        ("neg", c_uint64),
        ("zero", c_uint64),
        ("pos", c_uint64),
        ("min", c_double),
        ("max", c_double),
        ("mean", c_double),
        ("std", c_double),
        ("first_bad", c_uint64),
    ]


class ElementRule(ctypes.Structure):
    """Rule in checked.cc."""

    _fields_ = [
        ("rank", c_int32),
        ("look", c_int32),
        ("nan", c_int32),
        ("inf", c_int32),
        ("low", c_double),
        ("high", c_double),
        ("dims", c_int64 * 8),
        ("known", POINTER(c_double)),
        ("known_count", c_int64),
    ]


# Called with the plan, the number of an element that may break it, and its parts; writes why, answers what to do.
CheckedCallback = ctypes.CFUNCTYPE(c_int, c_int64, c_int64, c_int, POINTER(TensorView), c_void_p, c_int)

# Called on the thread that computed a tensor, where a condition on it holds; not 0: the hit for which to stop.
BreakCallback = ctypes.CFUNCTYPE(c_int, c_int, POINTER(TensorView), POINTER(RowPlace), POINTER(NativeHealth))

# Number of a message, how many values it has, they themselves.
LogCallback = ctypes.CFUNCTYPE(None, c_int64, c_int, POINTER(TensorView))

_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "sleuth_open": (c_int, [POINTER(SessionPlan)]),
    "sleuth_open_threads": (c_int, [c_char_p]),
    "sleuth_open_memory": (c_int, [c_char_p, c_uint64, c_uint64] * 3),
    "sleuth_memory_group": (None, [c_char_p, c_char_p, POINTER(c_uint64)]),
    "sleuth_close": (None, []),
    "sleuth_events": (c_uint64, []),
    "sleuth_alarm": (c_uint64, []),
    "sleuth_bad": (c_uint64, []),
    "sleuth_next_call": (c_uint64, []),
    "sleuth_call": (None, [POINTER(CallRow)]),
    "sleuth_note": (c_int, [POINTER(TensorView), c_int, POINTER(RowPlace)]),
    "sleuth_note_summary": (None, [c_void_p, c_void_p, POINTER(TensorView), c_int, POINTER(RowPlace)]),
    "sleuth_set_step": (None, [c_int64]),
    "sleuth_guard": (None, [c_int, c_uint64]),
    "sleuth_take_bad": (c_uint64, [c_uint64, c_void_p, c_uint64]),
    "sleuth_set_suspicious": (None, [c_int]),
    "sleuth_break_tell": (None, [BreakCallback]),
    "sleuth_break_set": (c_int, [c_int, c_int, c_int, POINTER(c_double), c_int]),
    "sleuth_break_activate": (None, [c_int, c_int, c_int]),
    "sleuth_break_on": (None, [c_uint32, c_uint64]),
    "sleuth_break_forget": (None, []),
    "sleuth_break_closely": (None, [c_int64]),
    "sleuth_break_drain": (c_int, [c_int]),
    "sleuth_break_change": (c_double, []),
    "sleuth_break_take_stop": (c_int, []),
    "sleuth_break_judge": (None, [c_uint64, POINTER(TensorView), POINTER(RowPlace)]),
    "sleuth_watch_open": (c_int, [c_char_p, c_char_p, c_char_p, c_uint64, c_uint64, c_uint64]),
    "sleuth_watch_activate": (None, [c_int]),
    "sleuth_watch_set": (None, [c_uint32, c_int64, c_uint32]),
    "sleuth_watch_on": (None, [c_uint32, c_uint32]),
    "sleuth_watch_forget": (None, []),
    "sleuth_watch_due": (c_int, [c_uint32]),
    "sleuth_watch_rows": (c_uint64, []),
    "sleuth_watch_saw": (None, [c_uint32, POINTER(TensorView), POINTER(RowPlace)]),
    "sleuth_watch_variable": (
        None,
        [c_uint32, c_uint32, POINTER(TensorView), POINTER(TensorView), POINTER(RowPlace)],
    ),
    "sleuth_watch_text": (None, [c_uint32, c_char_p, c_uint64, c_uint32, POINTER(TensorView)]),
    "sleuth_inside_open": (c_int, [c_char_p, c_char_p, c_char_p, c_uint64, c_uint64, c_uint64]),
    "sleuth_inside_open_rows": (c_int, [c_char_p, c_uint64, c_uint64]),
    "sleuth_inside_due": (None, [c_int]),
    "sleuth_inside_set": (None, [c_uint32, c_uint32, c_int]),
    "sleuth_inside_on": (None, [c_uint32, c_uint32]),
    "sleuth_inside_forget": (None, []),
    "sleuth_inside_saw": (None, [c_uint32, POINTER(TensorView), POINTER(RowPlace)]),
    "sleuth_inside_rows": (None, [c_uint32, POINTER(TensorView), POINTER(RowPlace)]),
    "sleuth_attention": (c_uint64, [POINTER(TensorView), c_int, c_void_p, c_uint64]),
    "sleuth_log_tell": (None, [LogCallback]),
    "sleuth_log_drain": (c_int, [c_int]),
    "sleuth_text": (c_uint64, [POINTER(TensorView), c_uint64, POINTER(c_void_p)]),
    "sleuth_checked_tell": (None, [CheckedCallback]),
    "sleuth_checked_plan": (c_int64, [POINTER(ElementRule), c_int]),
    "sleuth_checked_drain": (c_int, [c_int]),
    "sleuth_call_of_step": (c_uint64, [c_uint64]),
    "sleuth_latest_call": (c_uint64, []),
    "sleuth_open_values": (c_int, [c_char_p, c_char_p, c_uint64]),
    "sleuth_listen_to_signals": (None, [c_int]),
    "sleuth_signals_arrived": (c_uint32, []),
    "sleuth_isa": (c_int, []),
    "sleuth_watch_function": (None, [c_char_p, c_uint64, c_char_p]),
    "sleuth_share_functions": (None, [c_char_p, c_uint64]),
    "sleuth_watch_run": (None, [c_char_p, c_uint64, c_uint64, c_char_p]),
    "sleuth_begin_run": (None, [c_uint64, c_uint64, c_char_p, c_int]),
    "sleuth_end_run": (None, [c_uint64]),
    "sleuth_has_probe": (c_int, [c_char_p, c_uint32]),
    "sleuth_name_devices": (None, [c_char_p]),
    "sleuth_forget_function": (None, [c_char_p]),
    "sleuth_was_probed": (c_int, [c_char_p]),
    "sleuth_bad_in_functions": (c_uint64, []),
    "sleuth_repeated_rows": (c_uint64, []),
    "sleuth_held_drop": (None, [c_uint64]),
    "sleuth_held_again": (None, [c_uint64]),
    "sleuth_held_count": (c_uint64, [c_uint32]),
    "sleuth_held_bytes": (c_uint64, [c_uint64]),
    "sleuth_eager_writes": (c_uint64, []),
    "sleuth_held_join": (None, [c_uint64]),
    "sleuth_held_clear": (None, []),
    "sleuth_held_forget": (None, []),
    "sleuth_expect_set": (None, [c_int64, c_void_p]),
    "sleuth_expect_tell": (None, [c_void_p]),
    "sleuth_expect_drain": (c_int, [c_int]),
    "sleuth_expect_sizes": (c_int, []),
    "sleuth_expect_abandon": (None, []),
    "sleuth_expect_judge": (c_int, [c_void_p, c_void_p, c_void_p]),
}
_SIGNATURES_UNDER_GIL: dict[str, tuple[Any, list[Any]]] = {
    "sleuth_python_ready": (c_int, []),
    "sleuth_hooks": (py_object, [py_object, c_uint64, c_int]),
    "sleuth_call_functions": (py_object, []),
    "sleuth_forget_places": (None, []),
    "sleuth_set_forward": (None, [c_uint32]),
    "sleuth_set_scope": (None, [c_uint32]),
    "sleuth_maker": (c_uint32, [c_uint64]),
    "sleuth_taker": (c_uint32, [c_uint32, c_uint64]),
    "sleuth_made": (None, [c_uint64, c_uint32]),
    "sleuth_note_reads": (None, [py_object, c_void_p, c_void_p, c_void_p, c_int, c_void_p]),
    "sleuth_any_bad": (c_int, [py_object]),
    "sleuth_listen_to_reads": (c_int, [py_object, py_object, c_int]),
    "sleuth_born": (None, [py_object, c_int, POINTER(RowPlace)]),
}


class Native:
    """The library's functions, without their prefix."""

    def __init__(self, path: Path) -> None:
        free, held = ctypes.CDLL(str(path)), ctypes.PyDLL(str(path))
        for library, signatures in ((free, _SIGNATURES), (held, _SIGNATURES_UNDER_GIL)):
            for name, (result, arguments) in signatures.items():
                function = getattr(library, name)
                function.restype, function.argtypes = result, arguments
                setattr(self, name.removeprefix("sleuth_"), function)

    def __getattr__(self, name: str) -> Any:  # for mypy: all of them are set in __init__
        raise AttributeError(name)


@cache
def load() -> Native | None:
    """The library, or None where there is none that fits. TensorFlow must have been imported."""
    try:
        native = Native(LIBRARY)
    except (OSError, AttributeError):
        return None
    return native if native.python_ready() else None


def load_with_tensorflow() -> Native | None:
    """The library where TensorFlow has been imported; it needs what that has loaded, and must not load it by itself."""
    return load() if hasattr(sys.modules.get("tensorflow"), "__version__") else None


def load_error() -> str:
    """Return why the library could not be loaded, in one line."""
    try:
        Native(LIBRARY)
    except (OSError, AttributeError) as error:
        return str(error)
    return "this Python lacks a function that the native hook needs"
