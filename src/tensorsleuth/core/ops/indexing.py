"""Ops that take elements or rows by number: which input holds the numbers, and which one is taken from."""

from __future__ import annotations

from tensorsleuth.core.ops.kinds import SCATTER_WRITES

_INDEXES_SECOND = (
    *("Gather", "GatherV2", "GatherNd", "ResourceGather", "ResourceGatherNd"),
    *(f"TensorScatter{what}" for what in ("Update", "Add", "Sub", "Min", "Max")),
    *(f"ResourceScatter{what}" for what in ("Update", "Add", "Sub", "Mul", "Div", "Min", "Max")),
    *(f"ResourceScatterNd{what}" for what in ("Update", "Add", "Sub", "Min", "Max")),
    *("StridedSlice", "Slice"),
)
LABEL_OPS = frozenset(["SparseSoftmaxCrossEntropyWithLogits"])  # an index is the number of a class
SEGMENT_OPS = frozenset(
    [f"UnsortedSegment{what}" for what in ("Sum", "Prod", "Max", "Min")]
    + [f"Segment{what}" for what in ("Sum", "Prod", "Max", "Min", "Mean")]
)
SCATTER_OPS = SCATTER_WRITES | {op for op in _INDEXES_SECOND if "Scatter" in op} | {"ScatterNd"}
SLICE_OPS = frozenset(["StridedSlice", "Slice"])

# The input with the indexes, by op.
INDEX_INPUTS = {
    **dict.fromkeys((*_INDEXES_SECOND, *SCATTER_WRITES, *LABEL_OPS, *SEGMENT_OPS), 1),
    "ScatterNd": 0,
    "SparseToDense": 0,
}
# The input that is indexed, by op: a table, or the scores of the classes.
INDEXED_INPUTS = dict.fromkeys((*_INDEXES_SECOND, *SCATTER_WRITES, *LABEL_OPS), 0)
