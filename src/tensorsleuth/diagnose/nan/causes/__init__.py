"""The causes that are known, one a file. A new file with `match(case) -> Explanation | None` is found by itself.

`OPS` of a file lists the ops that its cause is about, and `NEEDS` the parts of a recording (`diagnose/needs.py`): it is
asked only about a case with one of these ops, of a process that has one of these parts.

A cause answers None unless what it needs to see is there. Its confidence says how sure it is: 0.9 where nothing else
explains what was seen, 0.6 where it fits. The surest story is told; where none fits, the origin is shown without one.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pkgutil import walk_packages

from tensorsleuth.diagnose.nan.case import Case, Explanation
from tensorsleuth.diagnose.nan.fed_data import MENDED_BY_SCALING, with_data_scale
from tensorsleuth.diagnose.nan.variable_jump import jump_of_input
from tensorsleuth.diagnose.nan.weight_explosion import with_weight_explosion
from tensorsleuth.diagnose.needs import Need, recorded_parts

CAUSES_OF_SIZE = (
    *("exp-overflow", "softmax-by-hand", "logsumexp-by-hand", "sinh-overflow"),
    *("product-overflow", "sum-overflow", "pow-overflow", "half-overflow"),
)

TRAINING_PARTS = Need.TRAINING | Need.EAGER_GRADIENTS  # without gradients nothing throws the weights

CauseMatcher = Callable[[Case], Explanation | None]


@dataclass(frozen=True)
class Cause:
    """A file of this folder."""

    match: CauseMatcher
    ops: Set[str] | None  # None for any
    needs: Need | None  # None for a cause that any process may have

    def may_explain(self, case: Case, ops: Set[str | None]) -> bool:
        """Return whether it is worth asking, without running any of it."""
        if self.ops is not None and self.ops.isdisjoint(ops):
            return False
        return self.needs is None or bool(self.needs & case.process.cached(recorded_parts))


# The input lies where a function of one number has no value.
OUTSIDE_DOMAIN = frozenset(["log-negative", "sqrt-negative", "out-of-domain"])


@cache
def causes() -> tuple[Cause, ...]:
    files = [import_module(module.name) for module in walk_packages(__path__, f"{__name__}.") if not module.ispkg]
    return tuple(Cause(file.match, getattr(file, "OPS", None), getattr(file, "NEEDS", None)) for file in files)


def explain(case: Case) -> tuple[Case, Explanation] | None:
    """Return the explanation with the highest confidence, and its op: the case's own, or one fused into it."""
    told = [(one, story) for one in case.candidates for story in _explanations(one)]
    surest = max(told, key=lambda pair: pair[1].confidence, default=None)
    if surest is not None and surest[1].cause in OUTSIDE_DOMAIN:
        surest = _first_in_chain(told)
    judged, story = surest if surest is not None else (case, None)
    if story is not None and (jumped := _with_jump(judged, story)) is not story:
        return judged, jumped
    story = with_weight_explosion(judged, story) if _trains(case) else story
    if story is not None and story.cause in MENDED_BY_SCALING:
        story = with_data_scale(judged, story)
    return (judged, story) if story is not None else None


def _trains(case: Case) -> bool:
    """Return whether weights may have been updated before."""
    is_computed = not (case.origin.from_outside or case.origin.from_infinity) and case.variable_write is None
    return is_computed and bool(TRAINING_PARTS & case.process.cached(recorded_parts))


def _first_in_chain(told: list[tuple[Case, Explanation]]) -> tuple[Case, Explanation]:
    """Return the first op of a chain that TensorFlow computes as one: the inputs of the others were not seen."""
    outside = [pair for pair in told if pair[1].cause in OUTSIDE_DOMAIN]
    return next((pair for pair in outside if pair[0].is_fused), outside[0])


def _explanations(case: Case) -> list[Explanation]:
    """The op may be fused into another, differentiate one, or only hand on what came from outside."""
    ops = {case.op, case.differentiates, case.out.op}
    asked = (cause.match(case) for cause in causes() if cause.may_explain(case, ops))
    return [one for one in asked if one is not None]


def _with_jump(case: Case, story: Explanation) -> Explanation:
    """Lead to the line that set a number of the argument anew, if the op went bad in that very step."""
    jump = jump_of_input(case) if story.cause in CAUSES_OF_SIZE else None
    if jump is None or jump.frame is None:
        return story
    why = f"sets {jump.name} from {jump.before:.3g} to {jump.after:.3g}, and then line {_line(case)} {story.why}"
    return replace(story, why=why, fix=f"change it in smaller steps, or less far; else {story.fix}", frame=jump.frame)


def _line(case: Case) -> str:
    frame = case.site.frame if case.site is not None else None
    return str(frame.line) if frame is not None else "?"
