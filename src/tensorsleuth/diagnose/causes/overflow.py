"""exp, sinh, powers, products and sums that leave the range of their dtype."""

from __future__ import annotations

from tensorsleuth.diagnose.case import Case, Story

LARGEST = {"float16": 65504.0, "bfloat16": 3.39e38, "float32": 3.4028e38, "float64": 1.797e308}
EXPONENTIALS = ("Exp", "Expm1", "Sinh", "Cosh")
SUMS = (
    "Sum",
    "AddN",
    "Add",
    "AddV2",
    "Sub",
    "Cumsum",
    "MatMul",
    "BatchMatMulV2",
    "BatchMatMulV3",
    "Conv2D",
    "Einsum",
    "Mean",
)
PRODUCTS = ("Mul", "Prod", "Square", "Cumprod", "Pow", "SquaredDifference")


def match(case: Case) -> Story | None:
    if case.differentiates is not None or not (case.out.count("pos_inf") or case.out.count("neg_inf")):
        return None
    if any(one.bad for one in case.inputs):
        return None
    if case.op in EXPONENTIALS:
        return _exponential(case)
    if case.out.dtype in ("float16", "bfloat16") and case.op in (*SUMS, *PRODUCTS, "Cast"):
        return _half(case)
    if case.op in PRODUCTS:
        slug = {"Cumprod": "cumprod-overflow", "Pow": "pow-overflow"}.get(case.op, "product-overflow")
        return Story(slug, 0.8, f"overflows {case.out.dtype}: {_range(case)}", _LOGS)
    if case.op in SUMS:
        return Story("sum-overflow", 0.6, f"adds up to more than {case.out.dtype} can hold: {_range(case)}", _SCALE)
    return None


def _exponential(case: Case) -> Story:
    x = case.input(0)
    largest = f"of numbers up to {x.max:.4g}" if x is not None and x.known else "of large numbers"
    if case.leads_to("Sum") and case.leads_to("RealDiv|Div"):
        return Story(
            "softmax-by-hand", 0.9, f"takes exp {largest} for a hand-made softmax: it overflows above 88", _SOFTMAX
        )
    if case.leads_to("Sum|Mean", "Log"):
        return Story(
            "logsumexp-by-hand", 0.9, f"takes exp {largest} before a sum and a log: it overflows above 88", _LSE
        )
    slug = "exp-overflow" if case.op in ("Exp", "Expm1") else "sinh-overflow"
    return Story(slug, 0.9, f"takes {case.op.lower()} {largest}: it overflows {case.out.dtype}", _CLIP)


def _half(case: Case) -> Story:
    slug = "sum-overflow" if case.op in ("Sum", "Mean") else "half-overflow"
    limit = LARGEST[case.out.dtype]
    return Story(slug, 0.85, f"exceeds {limit:,.0f}, the largest {case.out.dtype}: {_range(case)}", _WIDER)


def _range(case: Case) -> str:
    known = [one.largest for one in case.inputs if one.known]
    return f"its inputs reach {max(known):.4g}" if known else "its inputs are large"


_CLIP = "bound what goes in: tf.exp(tf.minimum(x, 80.0)), or work with logarithms"
_SOFTMAX = "use tf.nn.softmax(logits), which subtracts the largest logit first"
_LSE = "use tf.reduce_logsumexp(x, axis)"
_LOGS = "add logarithms instead of multiplying, or normalise the factors"
_SCALE = "scale or normalise what is added; look at why it is that large"
_WIDER = "compute this in float32: tf.cast(x, tf.float32) before, and back after"
