"""tf.where hides a bad value from the result, but not from the gradient: 0 · ∞ is NaN."""

from __future__ import annotations

from tensorsleuth.diagnose.case import Case, Story

_WHERE = "Select|SelectV2"
_ARITHMETIC = "Mul|RealDiv|Sub|AddV2|Add|Neg|Pow"


def match(case: Case) -> Story | None:
    if case.differentiates is None or not (case.leads_to(_WHERE) or case.leads_to(_ARITHMETIC, _WHERE)):
        return None
    what = case.differentiates
    why = f"the gradient of {what} is not finite in the branch that tf.where does not take, and 0 · ∞ = NaN"
    return Story("where-trap", 0.92, why, _TWICE)


_TWICE = "make the input safe before the op as well: safe = tf.where(ok, x, 1.0); y = tf.where(ok, f(safe), 0.0)"
