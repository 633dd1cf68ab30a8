"""Ops that take something from outside their function, or change something there, and must not run twice.

When a step is run again, such an op is not. What it put out the first time is kept, and put out again; one that puts
out nothing is left out. Variables are another matter: the step gets its own, with the values from before it.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Any

from tensorsleuth.core.dtypes import RESOURCE
from tensorsleuth.recording.tensorflow import internals as tf

MAX_KEPT_OUTPUTS = 64  # of one op that are kept; native/src/ops/probe.cc

# Stateful ops whose state is in variables, in tables that are only read, or in the step itself.
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
    KEEP = "keep"  # puts out what it did the first time
    SKIP = "skip"
    REFUSE = "refuse"  # the step cannot be run again


def replay_policy(node: Any, dtypes: tuple[int, ...]) -> ReplayPolicy:
    """Return the treatment of a node with outputs of these dtypes."""
    if not tf.is_stateful(node.op) or _REPEATABLE_OPS.match(node.op):
        return ReplayPolicy.RUN
    if not dtypes:
        return ReplayPolicy.SKIP
    return ReplayPolicy.REFUSE if RESOURCE in dtypes or len(dtypes) > MAX_KEPT_OUTPUTS else ReplayPolicy.KEEP


def is_random(op: str) -> bool:
    """Does a stateful op draw random numbers."""
    return bool(_RANDOM_OPS.search(op))


def skip_node(node: Any) -> None:
    """Let a node do nothing, but stay where it is in the order of things."""
    controls = [text for text in node.input if text.startswith("^")]
    inputs = [f"^{text.split(':')[0]}" for text in node.input if not text.startswith("^")]
    node.op = "NoOp"
    node.input[:] = list(dict.fromkeys([*controls, *inputs]))
    node.attr.clear()


def put_out_kept(node: Any, dtypes: tuple[int, ...], slot: int, needed: int) -> None:
    """Let a node put out what was kept from `slot` on; `needed` has a bit for each output that somebody takes."""
    skip_node(node)
    node.op = "SleuthHeld"
    node.attr["Tout"].list.type.extend(dtypes)
    node.attr["hold"].i = slot
    node.attr["needed"].i = needed if needed < 1 << 63 else needed - (1 << 64)
    node.attr["count"].i = len(dtypes)
