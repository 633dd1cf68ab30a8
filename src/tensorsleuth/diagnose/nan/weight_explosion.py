"""Weights that a few updates made many times larger: what went bad after that is only where it showed."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.confidence import HIGH_CONFIDENCE
from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.core.ops.kinds import VARIABLE_READS
from tensorsleuth.diagnose.nan.case import Case, Explanation
from tensorsleuth.diagnose.nan.fed_data import outlier_batch, with_outlier_batch
from tensorsleuth.diagnose.nan.last_update import NO_PARAMETERS, WeightUpdate, jump_at, update_of
from tensorsleuth.diagnose.nan.weight_sizes import USUAL_RATIO, WeightSizes, sizes_before, thrown_first
from tensorsleuth.diagnose.nan.written_growth import variables_taken
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor

MAX_HOPS_TO_WEIGHTS = 80  # ops between weights and what went bad
SURE_RATIO = 1.0  # an update as large as the weights: nothing is left of them
MIN_GROWTH = 3.0  # of what went in, since the first call
THROWN_GROWTH = 30.0  # as much as no usual update makes it
MAX_RATE_ADVICE = 1_000  # times lower
LEARNING_RATE = "learning-rate"

# Each is told of numbers that may be large, small or negative because the weights are.
EXPLAINED_BY_WEIGHTS = frozenset(
    [
        *("exp-overflow", "softmax-by-hand", "logsumexp-by-hand", "sinh-overflow", "cumprod-overflow", "pow-overflow"),
        *("product-overflow", "sum-overflow", "half-overflow", "clip-nan-norm", "initial-weights", LEARNING_RATE),
        *("log-zero", "log-negative", "sqrt-negative", "out-of-domain", "cross-entropy-by-hand", "sigmoid-log"),
        *("divide-by-zero", "zero-over-zero", "normalise-zero", "rsqrt-zero", "grad-sqrt-zero", "grad-norm-zero"),
        *("grad-pow-zero", "exploding-recurrence", "half-underflow"),
    ]
)
# They fail at weights that other code bears, so that both explanations fit.
FRAGILE = frozenset(
    ["softmax-by-hand", "logsumexp-by-hand", "cross-entropy-by-hand", "sigmoid-log", "half-overflow", "half-underflow"]
)


# They are told of numbers that are too large.
OF_LARGE_NUMBERS = frozenset(
    [
        *("exp-overflow", "softmax-by-hand", "logsumexp-by-hand", "sinh-overflow", "cumprod-overflow", "pow-overflow"),
        *("product-overflow", "sum-overflow", "half-overflow", "clip-nan-norm", "exploding-recurrence"),
    ]
)


def with_weight_explosion(case: Case, story: Explanation | None) -> Explanation | None:
    """Lead to the update that threw the weights, if the op went bad because of them."""
    if story is not None and story.cause not in EXPLAINED_BY_WEIGHTS:
        return story
    thrown = _thrown_weights(case, story) if not _is_long_growth(story) else None
    outlier = outlier_batch(case)
    if outlier is not None and (outlier.is_now or thrown is not None or _is_long_growth(story)):
        return with_outlier_batch(story, outlier) if story is not None else None
    update = update_of(case, thrown.handle) if thrown is not None else None
    if thrown is None or update is None or update.frame is None:
        return story
    return _explanation(case, story, thrown, update)


def _is_long_growth(story: Explanation | None) -> bool:
    """Return whether it tells already of weights that grew, step by step."""
    return story is not None and story.cause == LEARNING_RATE and story.confidence >= HIGH_CONFIDENCE


def _explanation(
    case: Case, story: Explanation | None, thrown: WeightSizes, weight_update: WeightUpdate
) -> Explanation:
    rate = f" (learning rate {weight_update.learning_rate:.3g})" if weight_update.learning_rate is not None else ""
    jump = jump_at(weight_update, int(thrown.steps[thrown.began]))
    since = f"{jump}, and " if jump is not None else ""
    grown = f"{since}{weight_update.name} grew {thrown.words}"
    why = f"updates the weights by too much{rate}: {grown}, {_consequence(case, story)}"
    is_fragile = story is not None and story.cause in FRAGILE
    sure = thrown.largest_ratio >= SURE_RATIO and not is_fragile
    fix = f"lower the learning rate ({_lower(thrown):,}×, to begin with), or clip gradients (tf.clip_by_global_norm)"
    also = f"; if the rate is meant: {story.fix}" if story is not None and is_fragile else ""
    read = tuple(one for one in (_read(case, thrown.handle),) if one is not None)
    frame = jump.frame if jump is not None else weight_update.frame
    return Explanation(LEARNING_RATE, 0.93 if sure else 0.8, why, f"{fix}{also}", frame=frame, evidence=read)


def _consequence(case: Case, story: Explanation | None) -> str:
    frame: Frame | None = case.site.frame if case.site is not None else None
    line = f"line {frame.line}" if frame is not None else case.op
    if story is None or story.cause in (LEARNING_RATE, "initial-weights"):
        return f"until {case.op} overflowed" if case.out.has_inf else f"until {case.op} had no finite result"
    return f"and then {line} {story.why}"


def _lower(weight_sizes: WeightSizes) -> int:
    """Return how many times smaller an update would be usual."""
    times = 10 ** math.ceil(math.log10(weight_sizes.largest_ratio / USUAL_RATIO))
    return int(min(times, MAX_RATE_ADVICE))


def _thrown_weights(case: Case, story: Explanation | None) -> WeightSizes | None:
    """Return the weights that the last updates threw, and that the op was computed from."""
    handles = dict.fromkeys(_weights_behind(case))
    growth = input_growth(case) if story is None or story.cause in OF_LARGE_NUMBERS else None
    if not handles or (growth is not None and growth < MIN_GROWTH):
        return None
    must_overflow = growth is not None and growth >= THROWN_GROWTH
    return thrown_first((one for handle in handles for one in sizes_before(case, handle)), must_overflow)


def _weights_behind(case: Case) -> Iterator[int]:
    """Yield the variables that the op was computed from, without those of optimizers and metrics."""
    known, untrainable = case.process.catalogue.variables, case.finder.variables.untrainable
    start = case.op_node
    for node in case.neighbours.ancestors(start, MAX_HOPS_TO_WEIGHTS) if start is not None else ():
        handle = case.neighbours.variable_of(node) if node.type in VARIABLE_READS else None
        if handle is not None and handle not in untrainable and known.get(handle, ("", ""))[1] not in NO_PARAMETERS:
            yield handle
    taken = (handle for handle in variables_taken(case) if handle not in untrainable)
    yield from (handle for handle in taken if known.get(handle, ("", ""))[1] not in NO_PARAMETERS)


def _read(case: Case, handle: int) -> ObservedTensor | None:
    """Return the weights as the failing call read them."""
    for node in case.neighbours.ancestors(case.op_node, MAX_HOPS_TO_WEIGHTS) if case.op_node is not None else ():
        if node.type in VARIABLE_READS and case.neighbours.variable_of(node) == handle:
            return next(iter(case.neighbours.recorded_outputs(node)), None)
    return None


def input_growth(case: Case) -> float | None:
    """Return how many times larger the op's largest input is than in its first call; None if that was not seen."""
    largest = case.largest_input
    before = _first_size(case, largest) if largest is not None else None
    return largest.max_abs / before if largest is not None and before else None


def _first_size(case: Case, one: ObservedTensor) -> float | None:
    """Return the largest value of a tensor in the first call that computed it, if that is another one."""
    events = case.process.events
    if one.row is None:
        return None
    rows: Array = events[(events["tensor"] == one.row["tensor"]) & (events["flags"] & EventFlag.RANGED != 0)]
    rows = rows[rows["shape"] == one.row["shape"]] if one.tensor.eager is not None else rows
    rows = rows[rows["step"] == rows["step"][0]] if len(rows) else rows
    if not len(rows) or rows["step"][0] == one.row["step"]:
        return None
    return float(np.maximum(np.abs(rows["min"]), np.abs(rows["max"])).max())
