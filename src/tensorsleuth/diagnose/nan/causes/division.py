"""x/0 and 0/0, also in a mean over nothing, a variance of one element, and hand-made normalization."""

from __future__ import annotations

from tensorsleuth.core.ops.elementwise import DIVISIONS
from tensorsleuth.core.ops.kinds import EXTERNAL_SOURCES, LITERALS
from tensorsleuth.core.ops.numerics import ALL_DIVISIONS, NORMS
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.nan.case import Case, Explanation

OPS = ALL_DIVISIONS | {"Exp"}
SLOPED = DIVISIONS | {"Exp"}  # in a softmax


def match(case: Case) -> Explanation | None:
    if case.differentiates is not None:
        return _slope_of_softmax(case)
    if case.op not in OPS or case.op_node is None:
        return None
    slot = 0 if case.op in ("Reciprocal", "Inv") else 1
    divisor = case.input(slot)
    if divisor is None or not divisor.has_range or not divisor.count("zero"):
        return None
    zeros = f"{divisor.count('zero'):,} of the divisors are 0" if divisor.elements > 1 else "the divisor is 0"
    made_by = case.neighbours.input_ops(case.op_node)[slot]
    divisors = [*made_by, *(spot for one in made_by for spot in case.neighbours.ancestors(one, 3))]
    types = {spot.type for spot in divisors}
    if "Exp" in types and "Sum" in types:
        why = f"divides exponentials by their sum, and {zeros}: they all underflowed"
        return Explanation("softmax-by-hand", 0.9, why, _SOFTMAX)
    if made_by and made_by[0].type == "Sub" and _subtracts_one(case, made_by[0]):
        why = f"divides by n − 1, and {zeros}: the variance of a single element is 0/0"
        return Explanation("variance-of-one", 0.93, why, _ONE)
    if made_by and made_by[0].type in NORMS:
        return _by_root(made_by[0], case, zeros)
    if case.out.has_nan and _averages(case, divisors):
        return Explanation(
            "empty-mean", 0.9, f"divides a sum by a count, and {zeros}: there was nothing to average", _MEAN
        )
    slug, what = ("zero-over-zero", "divides 0 by 0") if case.out.has_nan else ("divide-by-zero", "divides by zero")
    if divisor.elements == 1 and divisor.op in EXTERNAL_SOURCES | LITERALS:
        return Explanation(slug, 0.9, f"{what}: {zeros}, and Python computed it", _counted(case))
    return Explanation(slug, 0.9, f"{what}: {zeros}", _SAFE)


def _counted(case: Case) -> str:
    """Advise to mend the number in Python; 1 − beta ** step is 0 where steps are counted from 0."""
    return f"{_FROM_ONE}; {_IN_PYTHON}" if "**" in case.code or "pow(" in case.code else _IN_PYTHON


def _slope_of_softmax(case: Case) -> Explanation | None:
    """Match exp(x) / sum(exp(x)) that is finite, and whose gradient, 1 / sum or larger, is not."""
    node = case.forward_node
    if node is None or node.type not in SLOPED or any(one.bad for one in case.inputs):
        return None
    before = {spot.type for spot in case.neighbours.ancestors(node, 4)}
    if not ({"Exp", "Sum"} <= before or (node.type == "Exp" and case.leads_to("Sum", "RealDiv|Div"))):
        return None
    why = (
        "differentiates a hand-made softmax: its values are finite, but the exponentials are so small or so large "
        f"that its gradient leaves the range of {case.out.dtype}"
    )
    return Explanation("softmax-by-hand", 0.965, why, _SOFTMAX)


def _subtracts_one(case: Case, difference: OpNode) -> bool:
    taken = [one for slot in case.neighbours.recorded_inputs(difference)[1:] for one in slot]
    return any(one.has_range and one.min == one.max == 1.0 for one in taken) or " - 1" in case.code


def _by_root(root: OpNode, case: Case, zeros: str) -> Explanation:
    if is_deviation(root, case):
        return Explanation(
            "zero-over-zero", 0.9, f"divides by a standard deviation, and {zeros}: all values are equal", _DEVIATION
        )
    if is_norm(root, case):
        return Explanation(
            "normalise-zero", 0.92, f"divides by a norm, and {zeros}: a zero vector has no direction", _NORM
        )
    slug = "zero-over-zero" if case.out.has_nan else "divide-by-zero"
    return Explanation(slug, 0.9, f"divides by a square root, and {zeros}", _ROOT)


def is_norm(root: OpNode, case: Case) -> bool:
    """Return whether it is the root of a sum."""
    return root.type != "Sqrt" or any(
        one.type in ("Sum", "MatMul", "Einsum") for one in case.neighbours.ancestors(root, 2)
    )


def is_deviation(root: OpNode, case: Case) -> bool:
    """Return whether it is the root of a mean of squared differences, not of a sum of squares."""
    before = [one.type for one in case.neighbours.ancestors(root, 4)]
    squared = "SquaredDifference" in before or ("Sub" in before and "Mean" in before)
    return "Mean" in before and squared


def _averages(case: Case, divisors: list[OpNode]) -> bool:
    """Return whether a sum is divided by a count: sum(values * mask) / sum(mask), sum(values) / size(values)."""
    total = case.input(0)
    counts = {"Sum", "Size", "Shape", "StridedSlice", "Prod", "Cast", "Maximum"}
    return total is not None and total.op == "Sum" and any(one.type in counts for one in divisors)


_SAFE = "divide with tf.math.divide_no_nan(x, y), which gives 0 for x/0, or add an epsilon to the divisor"
_IN_PYTHON = "look at how that number is computed: a count or a length that is 0, a setting, a division of integers"
_FROM_ONE = "count steps from 1, if a power of the step is in it (1 - beta ** 0 is 0)"
_MEAN = "use tf.math.divide_no_nan(total, count), or tf.maximum(count, 1): a mask or batch may be empty"
_ONE = "a batch of one has no sample variance: divide by tf.maximum(n - 1, 1), or drop the remainder of the batches"
_NORM = "use tf.math.l2_normalize(x, epsilon=1e-12), or x * tf.math.rsqrt(tf.maximum(sum_of_squares, 1e-12))"
_ROOT = "add an epsilon behind the root: x / (tf.sqrt(y) + 1e-7)"
_DEVIATION = "add an epsilon to the deviation: (x - mean) / (std + 1e-6): a constant input has none"
_SOFTMAX = "use tf.nn.softmax(logits), which subtracts the largest logit first"
