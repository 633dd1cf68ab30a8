"""tf.where hides a bad value from the result, but not from the gradient: 0 · ∞ is NaN."""

from __future__ import annotations

from tensorsleuth.core.ops.kinds import SELECTS
from tensorsleuth.diagnose.nan.case import Case, Explanation
from tensorsleuth.diagnose.needs import Need

NEEDS = Need.FUNCTIONS | Need.EAGER_GRADIENTS


def match(case: Case) -> Explanation | None:
    if not case.reaches(SELECTS):
        return None
    if case.differentiates is None and not (case.spread.only_in_gradient and _is_masked(case)):
        return None
    what = case.differentiates or case.op
    why = f"{what} is not finite in the branch that tf.where does not take, so its gradient is 0 · ∞ = NaN"
    return Explanation("where-trap", 0.97, why, _TWICE)


def _is_masked(case: Case) -> bool:
    """Return whether every NaN of the forward pass goes into a tf.where, and none around it."""
    spots = [case.neighbours.node_of(one) for one in case.spread.forward_ends if one.has_nan]
    return all(
        spot is not None and any(user.type in SELECTS for user in case.neighbours.consumers(spot)) for spot in spots
    )


_TWICE = "make the input safe before the op as well: safe = tf.where(ok, x, 1.0); y = tf.where(ok, f(safe), 0.0)"
