"""Weights that are far too large from the start, so that what is computed from them overflows."""

from __future__ import annotations

from tensorsleuth.diagnose.nan.case import Case, Explanation
from tensorsleuth.diagnose.nan.causes.training import growth
from tensorsleuth.diagnose.nan.last_update import first_reads
from tensorsleuth.diagnose.needs import Need
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor

NEEDS = Need.FUNCTIONS | Need.VARIABLES
LARGEST_WEIGHT = 1e6  # that anybody would begin with
LARGEST_HALF_WEIGHT = 1e2


def match(case: Case) -> Explanation | None:
    if case.origin.from_outside or case.origin.from_infinity or not case.has_large_inputs or _may_have_grown(case):
        return None
    variables, limit = case.finder.variables, LARGEST_HALF_WEIGHT if case.out.is_half else LARGEST_WEIGHT
    reads = ((handle, one) for handle, one in first_reads(case) if one.max_abs > limit and one.elements > 1)
    large = [(handle, one) for handle, one in reads if _is_first_value(case, handle, one)]
    if not large:
        return None
    handle, read = max(large, key=lambda pair: pair[1].max_abs)
    frame = variables.creation_line(handle)
    why = (
        f"makes {variables.name(handle)} with numbers up to {read.max_abs:.3g} before the first step: whatever is "
        f"computed from it is as large, until {case.op} overflowed"
    )
    return Explanation("initial-weights", 0.94, why, _SMALLER, frame=frame, evidence=(read,)) if frame else None


def _is_first_value(case: Case, handle: int, read: ObservedTensor) -> bool:
    """Return whether it was written once before that read; of a compiled function only a late call has rows."""
    variables = case.finder.variables
    first, last = next(variables.writes_of(handle), None), variables.last_write(handle, read.call)
    return first is not None and last is not None and first.call == last.call


def _may_have_grown(case: Case) -> bool:
    """Return whether it was smaller before, or rows that would show it were overwritten."""
    return bool(case.process.lost_events) or case.grew_over_steps is not None or growth.match(case) is not None


_SMALLER = (
    "start with weights of about 1 / sqrt(inputs of the layer): glorot_uniform or he_normal in place of a fixed "
    "deviation"
)
