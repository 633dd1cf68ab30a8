"""Size limits for the files of a trace, and the share kept around the first bad value."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tensorsleuth.core.layout.rows import BUFFER, CALL, EVENT, MEMORY, PASSED

EVENT_BYTES = 1 << 30
CALL_BYTES = 256 << 20
VALUE_BYTES = 1 << 30
SAMPLE_BYTES = 64 << 20  # of memory.bin: enough for half a day with constant changes
BUFFER_BYTES = 128 << 20
OP_END_BYTES = 64 << 20
CATALOG_BYTES = 1 << 30
MEMORY_CATALOG_BYTES = 128 << 20
MEMORY_EVENT_BYTES = 24 << 20  # a quarter of a million tensors
MEMORY_CALL_BYTES = 8 << 20
WINDOW_ROWS = 65_536  # pinned before and after the first bad value of each kind
MIN_WINDOW_ROWS = 4096  # in a smaller buffer, the path from the first bad value to its cause would be lost
ALARM_KINDS = 3  # NaN, +∞, −∞
CHUNK_ROWS = 4096
SMALL_CHUNK_ROWS = 512  # both make chunks of whole pages
WATCHED_CHUNK_ROWS, WATCHED_CHUNKS = 512, 606  # of watched series: 128 MiB, 310,000 rows
WATCHED_VALUE_BYTES = 256 << 20
LAYER_STATS_CHUNK_ROWS, LAYER_STATS_CHUNKS = 512, 512  # of layer statistics: 34 MiB, 260,000 rows
LAYER_STATS_VALUE_BYTES = 256 << 20
INPUT_ROW_CHUNK_ROWS, INPUT_ROW_CHUNKS = 512, 585  # of the model's input rows: 16 MiB, 299,520 rows
UNBOUNDED_CHUNKS = 1 << 17  # half a billion rows


@dataclass(frozen=True)
class RingPlan:
    """The bound of one file of rows."""

    row_size: int
    chunk_rows: int
    chunks: int
    window: int = 0  # chunks that are kept before and after the first bad value of each kind

    @property
    def most_pinned(self) -> int:
        """The most chunks that may be kept around bad values. The others are for the latest rows."""
        return ALARM_KINDS * (2 * self.window + 1)


@dataclass(frozen=True)
class TracePlan:
    """The bounds of one process's files."""

    events: RingPlan
    calls: RingPlan
    value_bytes: int
    catalog_bytes: int = CATALOG_BYTES
    samples: RingPlan | None = None  # these three, or none if nobody needs memory and time
    buffers: RingPlan | None = None
    op_ends: RingPlan | None = None


def make_plan(circular_buffer_size: int | None, keep_values: bool) -> TracePlan:
    """Return the bounds. None: in bytes. Positive: at least that many of the latest events and calls. Else no bound."""
    return TracePlan(
        _ring(EVENT.itemsize, circular_buffer_size, EVENT_BYTES),
        _ring(CALL.itemsize, circular_buffer_size, CALL_BYTES),
        VALUE_BYTES if keep_values else 0,
        samples=_chunks(MEMORY.itemsize, SAMPLE_BYTES, CHUNK_ROWS),
        buffers=_chunks(BUFFER.itemsize, BUFFER_BYTES, CHUNK_ROWS),
        op_ends=_chunks(PASSED.itemsize, OP_END_BYTES, CHUNK_ROWS),
    )


def memory_plan() -> TracePlan:
    """Return the bounds of a trace in memory, which only has to hold the latest steps."""
    return TracePlan(
        _chunks(EVENT.itemsize, MEMORY_EVENT_BYTES, SMALL_CHUNK_ROWS),
        _chunks(CALL.itemsize, MEMORY_CALL_BYTES, SMALL_CHUNK_ROWS),
        0,
        MEMORY_CATALOG_BYTES,
    )


def _chunks(row_size: int, most: int, rows: int) -> RingPlan:
    return RingPlan(row_size, rows, most // (row_size * rows))


def _ring(row_size: int, rows: int | None, default_bytes: int) -> RingPlan:
    if rows is None:
        return replace(_chunks(row_size, default_bytes, CHUNK_ROWS), window=WINDOW_ROWS // CHUNK_ROWS)
    if rows <= 0:
        return RingPlan(row_size, CHUNK_ROWS, UNBOUNDED_CHUNKS)
    kept = -(-max(rows, MIN_WINDOW_ROWS) // SMALL_CHUNK_ROWS) + 1
    window = min(kept - 1, WINDOW_ROWS // SMALL_CHUNK_ROWS)
    return RingPlan(row_size, SMALL_CHUNK_ROWS, kept + ALARM_KINDS * (2 * window + 1), window)
