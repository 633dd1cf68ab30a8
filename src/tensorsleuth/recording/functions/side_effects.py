"""Ops that read or change state outside their function, and so must not run twice.

A replay does not run such an op. A stand-in returns the outputs that were kept from the first run, or does nothing if
the op has no outputs. Variables are no outside state: the replay has its own, with the values from before the call.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Any

from tensorsleuth.core.dtypes import RESOURCE
from tensorsleuth.recording.tensorflow import internals as tf

MAX_KEPT_OUTPUTS = 64  # for each op; native/src/ops/probe.cc

# Stateful ops whose state is in variables, in read-only tables, or in the step itself.
_REPEATABLE_OPS = re.compile(
    "(ReadVariableOp|VariableShape|VarIsInitializedOp|Assign.*VariableOp|DisableCopyOnRead"
    "|Resource(Apply|SparseApply|Gather|Scatter|StridedSliceAssign|CountUpTo).*"
    "|(Stateful)?PartitionedCall|(Stateless)?(If|While|Case)|SymbolicGradient|XlaLaunch"
    "|Assert|TensorArray.*|Stack.*|Rng(ReadAnd)?Skip|Stateful(Uniform|Standard|Truncated|Random|Binomial).*"
    "|LookupTable(Find|Size|Export).*|.*HashTable.*|Sleuth(?!Log$|Point$).*)$"
)
_RANDOM_OPS = re.compile("Random|Multinomial|TruncatedNormal|ParameterizedTruncatedNormal")


class ReplayPolicy(Enum):
    """The treatment of an op in a replay."""

    RUN = "run"
    KEEP = "keep"  # a stand-in returns the outputs of the first run
    SKIP = "skip"
    REFUSE = "refuse"  # the whole call cannot be replayed


def replay_policy(node: Any, dtypes: tuple[int, ...]) -> ReplayPolicy:
    """Return the treatment of a node with outputs of these dtypes."""
    if not tf.is_stateful(node.op) or _REPEATABLE_OPS.match(node.op):
        return ReplayPolicy.RUN
    if not dtypes:
        return ReplayPolicy.SKIP
    return ReplayPolicy.REFUSE if RESOURCE in dtypes or len(dtypes) > MAX_KEPT_OUTPUTS else ReplayPolicy.KEEP


def is_random(op: str) -> bool:
    """Return whether a stateful op draws random numbers."""
    return bool(_RANDOM_OPS.search(op))


def skip_node(node: Any) -> None:
    """Turn a node into one that does nothing, but keeps its place in the order of execution."""
    controls = [text for text in node.input if text.startswith("^")]
    inputs = [f"^{text.split(':')[0]}" for text in node.input if not text.startswith("^")]
    node.op = "NoOp"
    node.input[:] = list(dict.fromkeys([*controls, *inputs]))
    node.attr.clear()


def put_out_kept(node: Any, dtypes: tuple[int, ...], slot: int, needed: int) -> None:
    """Turn a node into one that returns the kept outputs from `slot` on. `needed` has a bit for each used output."""
    skip_node(node)
    node.op = "SleuthHeld"
    node.attr["Tout"].list.type.extend(dtypes)
    node.attr["hold"].i = slot
    node.attr["needed"].i = needed if needed < 1 << 63 else needed - (1 << 64)
    node.attr["count"].i = len(dtypes)
