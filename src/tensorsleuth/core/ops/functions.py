"""Ops that call functions, and the ops of our own library."""

from __future__ import annotations

# The form of each call that may have side effects.
STATEFUL_FORMS = {
    "PartitionedCall": "StatefulPartitionedCall",
    "StatelessIf": "If",
    "StatelessCase": "Case",
    "StatelessWhile": "While",
}
# They run functions: what goes bad in them was made by an op inside.
CALLING_OPS = frozenset([*STATEFUL_FORMS, *STATEFUL_FORMS.values(), "ReduceDataset", "For", "XlaLaunch", "XlaRun"])
POINT_OPS = frozenset(["SleuthLog", "SleuthPoint"])  # of native/src/ops/points.cc: they have no output
