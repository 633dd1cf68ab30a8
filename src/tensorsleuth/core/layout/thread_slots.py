"""The slots of threads.bin, byte for byte: the ops that each thread had begun and not ended.

`native/src/files/threads.h` states the same layout for C++; a test holds the two equal.
"""

from __future__ import annotations

import struct

import numpy as np

THREADS_FILE = "threads.bin"
HEADER = struct.Struct("<8sIIII")  # magic, version, slots, size of a slot, pid
MAGIC = b"SLEUTHTH"
SLOTS_OFFSET = 4096
MAX_BEGUN_OPS = 7

BEGUN = np.dtype(
    [
        ("time", "<u8"),  # nanoseconds, monotonic, as in rows
        ("call", "<u8"),  # number of a function call; 0 for an op
        ("step", "<i8"),  # the training step
        ("op", "<u4"),  # id in the catalogue, 0 if not known yet
        ("more", "<u4"),
    ]
)

SLOT = np.dtype(
    [
        ("id", "<u4"),  # the kernel's id of the thread, 0 if it has ended
        ("thread", "<u2"),  # as in rows
        ("depth", "<u2"),  # number of `begun` ops that had not ended; the entries after them began last
        ("spare", "<u8", (3,)),
        ("begun", BEGUN, (MAX_BEGUN_OPS,)),
    ]
)
