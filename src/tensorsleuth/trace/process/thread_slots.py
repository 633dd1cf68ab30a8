"""Reads the ops that each thread of a process had begun and not ended (native/src/files/threads.h)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.core.layout.thread_slots import HEADER, MAGIC, MAX_BEGUN_OPS, SLOT, SLOTS_OFFSET, THREADS_FILE
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.storage.files import open_regular

MAX_SLOTS = 1 << 14


@dataclass(frozen=True)
class BegunOp:
    """An op or function call that a thread began."""

    time: int  # nanoseconds, as in rows
    op: int  # its number in the catalogue, 0 if unknown
    call: int  # number of the function call, else 0
    step: int


@dataclass(frozen=True)
class ThreadState:
    """The ops that a thread was running, and its last one."""

    number: int  # as in rows
    main: bool
    running_ops: tuple[BegunOp, ...]  # outermost first
    last_op: BegunOp | None  # the op that it began last, ended or not


def threads_of(process: ProcessTrace) -> list[ThreadState]:
    """Return the threads that began any op, the main thread first. Without slots, they come from the rows."""
    found = _from_slots(process.folder / THREADS_FILE)
    threads = found if found is not None else _from_calls(process)
    threads = [thread for thread in threads if thread.last_op is not None]
    return sorted(threads, key=lambda thread: (not thread.main, not thread.running_ops, thread.number))


def _from_slots(path: Path) -> list[ThreadState] | None:
    try:
        with open_regular(path) as file:
            magic, version, slots, size, pid = HEADER.unpack(file.read(HEADER.size))
            if magic != MAGIC or version != 1 or size != SLOT.itemsize or slots > MAX_SLOTS:
                return None
            file.seek(SLOTS_OFFSET)
            data = file.read(slots * size)
    except (OSError, struct.error):
        return None
    rows = np.frombuffer(data[: len(data) // size * size], SLOT)
    return [_thread(row, pid) for row in rows[rows["id"] != 0]]


def _thread(row: Any, pid: int) -> ThreadState:
    begun = [BegunOp(int(one["time"]), int(one["op"]), int(one["call"]), int(one["step"])) for one in row["begun"]]
    last = max((one for one in begun if one.time), key=lambda one: one.time, default=None)
    under_way = tuple(one for one in begun[: min(int(row["depth"]), MAX_BEGUN_OPS)] if one.time)
    return ThreadState(int(row["thread"]), int(row["id"]) == pid, under_way, last)


def _from_calls(process: ProcessTrace) -> list[ThreadState]:
    """Return the last call of each thread and the unreturned functions, for a run without the native library."""
    calls = process.calls
    begun = calls[np.isin(calls["kind"], (CallKind.OP, CallKind.FUNCTION))]
    over = set(calls["call"][np.isin(calls["kind"], (CallKind.ENDED, CallKind.FAILED))].tolist())
    return [_last_of(begun[begun["thread"] == number], int(number), over) for number in np.unique(begun["thread"])]


def _last_of(rows: Array, number: int, over: set[int]) -> ThreadState:
    row = rows[-1]
    is_function = row["kind"] == CallKind.FUNCTION
    last = BegunOp(int(row["time"]), int(row["op"]), int(row["call"]) if is_function else 0, int(row["step"]))
    open_now = is_function and int(row["call"]) not in over
    return ThreadState(number, number == 1, (last,) if open_now else (), last)
