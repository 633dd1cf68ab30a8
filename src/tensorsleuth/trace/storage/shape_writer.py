"""Numbers shapes, and writes each once. It is the Python twin of native/src/files/shapes.cc."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from tensorsleuth.core.layout.rows import SHAPE
from tensorsleuth.trace.storage.files import Folder
from tensorsleuth.trace.storage.ring_writer import RingWriter
from tensorsleuth.trace.storage.size_plan import RingPlan

SHAPE_PLAN = RingPlan(SHAPE.itemsize, 2048, 512)  # a million shapes, and a table of one page


class ShapeWriter:
    """Hands out the numbers of shapes, starting at 1, and 0 once the table is full."""

    def __init__(self, folder: Folder, say: Callable[[str], None]) -> None:
        self._ring = RingWriter(folder / "shapes.bin", SHAPE, SHAPE_PLAN, say, keep_all=True)
        self._lock = threading.Lock()
        self._known: dict[tuple[int, ...], int] = {}
        self.close = self._ring.close
        self.abandon = self._ring.abandon

    def number(self, dims: Sequence[int]) -> int:
        shape = tuple(dims)
        with self._lock:
            known = self._known.get(shape)
            if known is None:
                known = self._write(shape)
            return known

    def _write(self, shape: tuple[int, ...]) -> int:
        if len(self._known) >= SHAPE_PLAN.chunk_rows * SHAPE_PLAN.chunks:
            return 0
        dims = (*shape[:8], *[0] * (8 - len(shape)))
        row = self._ring.append(lambda _: (len(shape), dims, 1))
        if row is None:
            return 0
        self._known[shape] = row + 1
        return row + 1
