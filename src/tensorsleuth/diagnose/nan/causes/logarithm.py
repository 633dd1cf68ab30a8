"""log, log1p or xlogy of zero or of a negative number."""

from __future__ import annotations

from tensorsleuth.core.ops.numerics import LOGARITHMS, RECIPROCALS
from tensorsleuth.core.ops.reductions import SQUASHING_OPS
from tensorsleuth.diagnose.graph.neighbours import adds_one
from tensorsleuth.diagnose.nan.case import Case, Explanation, negation_words
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor

_HALF = ("float16", "bfloat16")
_MAX_LOGIT_SPREAD = 80.0  # logits farther apart than this underflow in float32 too

OPS = LOGARITHMS


def match(case: Case) -> Explanation | None:
    if case.op not in OPS or case.differentiates is not None:
        return None
    slot = 1 if case.op == "Xlogy" else 0
    x, seen = case.input(slot), case.input_range(slot)
    if x is None and not case.is_hidden(slot):
        return None
    if seen is not None and case.out.has_nan and seen[0] < (-1 if case.op == "Log1p" else 0):
        why = f"takes the log of negative numbers (down to {seen[0]:.4g}){negation_words(case, slot)}"
        fix = _SIGN if negation_words(case, slot) else _NEGATIVE
        return Explanation("log-negative", 0.95, why, fix)
    if x is None and seen is None and case.out.has_nan and not case.out.count("neg_inf"):
        return Explanation("log-negative", 0.75, _UNSEEN, _NEGATIVE)
    if not case.out.count("neg_inf") and case.op == case.out.op:
        return None  # the log of what is infinite, of an op that TensorFlow fused into this one
    return _of_zero(case, x, seen)


def _of_zero(case: Case, x: ObservedTensor | None, seen: tuple[float, float] | None) -> Explanation | None:
    if case.op == "Log1p":
        return Explanation("log-zero", 0.95, "takes log1p of −1, which is log(0)", _MINUS_ONE)
    count = x.count("zero") if x is not None else 0
    zeros = f"{count:,} of what went in is 0" if count else "some of what went in is 0"
    if (half := _underflowed_in_half(case)) is not None:
        return Explanation(
            "half-underflow", 0.97, f"takes log(0): {zeros}, for {half} underflowed in half precision", _WIDER
        )
    clipped = x is not None and x.op in ("Maximum", "Relu", "ClipByValue")  # then it is no underflow
    if case.op == "Log" and not clipped and (made := _saturated(case)) is not None:
        return _of_probabilities(case, made, count)
    if case.op == "Log" and x is not None and x.op == "Sum" and case.before("Exp"):
        return Explanation(
            "logsumexp-by-hand", 0.96, "takes the log of a sum of exponentials that all underflowed to 0", _LSE
        )
    counts = seen is not None and seen[0] == 0 and seen[1] > 1  # no probabilities, of which log1p is another number
    return Explanation("log-zero", 0.95, f"takes log(0): {zeros}", f"{_ZERO}{_COUNTS if counts else ''}")


def _underflowed_in_half(case: Case) -> str | None:
    """Return the op that computed, in half precision, probabilities that float32 would have held."""
    made = case.node_before(*SQUASHING_OPS, "Exp", "Cast", "Mul")
    while made is not None and made.type in ("Cast", "Mul"):
        made = next(
            (one for one in case.neighbours.ancestors(made, 2) if one.type in (*SQUASHING_OPS, "Exp", "Mul")), None
        )
    if made is None or case.neighbours.dtype(made) not in _HALF:
        return None
    logits = [
        one
        for slot in case.neighbours.input_ops(made)
        for spot in slot
        for one in case.neighbours.recorded_outputs(spot)
    ]
    fits = all(one.max - one.min < _MAX_LOGIT_SPREAD for one in logits if one.has_range)
    return made.type.lower() if fits else None


def _saturated(case: Case) -> str | None:
    """Return the op that computed the log's probabilities, if some are known to be 0 or 1."""
    made = case.node_before(*SQUASHING_OPS, depth=3)
    if made is None and _is_sigmoid_by_hand(case):
        return "Sigmoid"
    seen = case.neighbours.recorded_outputs(made) if made is not None else []
    between = bool(seen) and all(one.has_range and not one.count("zero") and one.max < 1.0 for one in seen)
    return made.type if made is not None and not between else None


def _is_sigmoid_by_hand(case: Case) -> bool:
    """Return whether it is 1 / (1 + exp(-x))."""
    made = case.node_before(*RECIPROCALS, depth=1)
    divisors = case.neighbours.input_ops(made)[-1] if made is not None else []
    sums = [one for one in divisors if one.type in ("AddV2", "Add") and adds_one(case.neighbours, one)]
    return any(spot.type == "Exp" for one in sums for slot in case.neighbours.input_ops(one) for spot in slot)


def _of_probabilities(case: Case, made_by: str, zeros: int) -> Explanation:
    """Return the explanation: a loss multiplies the logs with labels or gathers them, other code uses them directly."""
    number = f"{zeros:,}" if zeros else "some"  # where the two were fused nobody counted
    how = f"takes log(0): {number} of the probabilities from {made_by.lower()} underflowed to 0"
    loss = case.leads_to("Mul|MulNoNan") or case.leads_to("Sum|Mean")
    if made_by == "Softmax":
        return Explanation("cross-entropy-by-hand", 0.96, how, _LOGITS if loss else _LOG_SOFTMAX)
    return Explanation("sigmoid-log", 0.96, how, _SIGMOID if loss else _LOG_SIGMOID)


_UNSEEN = (
    "takes a log of numbers that TensorFlow did not keep, for it computed several ops as one: NaN came out, as of "
    "negative numbers"
)
_LSE = "use tf.reduce_logsumexp(x, axis), which subtracts the largest first"
_ZERO = "keep it away from 0: tf.math.log(tf.maximum(x, 1e-7))"
_COUNTS = ", or tf.math.log1p(x) where x counts from 0"
_MINUS_ONE = "keep it above −1: tf.math.log1p(tf.maximum(x, -1.0 + 1e-6))"
_SIGN = "look at the minus sign: −log(x) is meant where log(−x) is written; a log needs positive numbers"
_NEGATIVE = "a log needs positive numbers: look at how x is made, or clip it: tf.math.log(tf.maximum(x, 1e-7))"
_WIDER = "compute the probabilities in float32: tf.nn.softmax(tf.cast(logits, tf.float32)), or take log_softmax"
_LOGITS = (
    "compute the loss from the logits: tf.nn.softmax_cross_entropy_with_logits(labels, logits), "
    "or tf.nn.log_softmax(logits) for the log probabilities"
)
_LOG_SOFTMAX = "use tf.nn.log_softmax(logits), or for a loss tf.nn.softmax_cross_entropy_with_logits(labels, logits)"
_LOG_SIGMOID = "use tf.math.log_sigmoid(logits), or for a loss tf.nn.sigmoid_cross_entropy_with_logits(labels, logits)"
_SIGMOID = "compute it from the logits: tf.nn.sigmoid_cross_entropy_with_logits(labels, logits), or tf.math.log_sigmoid"
