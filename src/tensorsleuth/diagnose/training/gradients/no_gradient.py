"""Trainable weights for which every tape returns None: their layer never learns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tensorsleuth.core.catalog import Frame, MissingGradient
from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.core.ops.data_ops import PYTHON_OPS
from tensorsleuth.core.ops.elementwise import COMPARISONS
from tensorsleuth.core.ops.gradients import GRADIENT_BLOCKS
from tensorsleuth.diagnose.health_words import pluralise
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.gradients.gradient_paths import GradientPaths
from tensorsleuth.diagnose.training.loops import TrainingLoops
from tensorsleuth.trace.process.process import ProcessTrace

FEWEST_STEPS = 4  # a tape gives the same None in each of them; fewer may be a trial
MOST_SHOWN = 4


@dataclass(frozen=True)
class Reason:
    """The reason why weights get no gradient; findings of the same reason are one."""

    why: str
    fix: str
    frame: Frame | None
    is_mistake: bool
    op: str = field(default="ReadVariableOp", compare=False)


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    missing = process.catalogue.missing_gradients
    loops = process.cached(TrainingLoops) if missing else None
    if loops is None:
        return
    paths, found = GradientPaths(process), defaultdict[Reason, list[tuple[MissingGradient, int]]](list)
    for one in missing.values():
        steps, first = _steps(paths, one)
        if steps >= FEWEST_STEPS and not loops.is_written_after(one.uid, first):
            reason = _reason(paths, one)
            if reason is not None:
                found[reason].append((one, steps))
    for reason, variables in found.items():
        yield _finding(paths, reason, [one for one, _ in variables], min(steps for _, steps in variables))


RULE = Rule(id="no-gradient", severity=Severity.WRONG, find=find, causes=("no-gradient", "not-in-loss"))


def _steps(paths: GradientPaths, missing: MissingGradient) -> tuple[int, int]:
    """Return in how many calls the loss was computed, and the first of these."""
    calls, eager = paths.training.process.calls, paths.training.process.catalogue.eager
    if missing.op:
        numbers = calls["call"][(calls["op"] == missing.op) & (calls["kind"] != CallKind.MORE_INPUTS)]
    else:
        way = paths.to_loss(missing)
        roots = {paths.training.root_id(way.loss)} if way is not None else set(_roots(paths, missing))
        known = paths.training.process.catalogue
        names = {known.functions[known.instances[root].function].name for root in roots}  # of those that XLA compiles
        ops = [op.id for op in eager.values() if op.instance in roots or op.type in names]
        numbers = calls["call"][(calls["kind"] == CallKind.FUNCTION) & np.isin(calls["op"], ops)]
    return (len(np.unique(numbers)), int(numbers.min())) if len(numbers) else (0, 0)


def _roots(paths: GradientPaths, missing: MissingGradient) -> Iterator[int]:
    """Yield the training functions that Python calls with the variable."""
    functions = paths.training.process.catalogue.functions
    for root, instance in paths.training.roots.items():
        if any(one.get("uid") == missing.uid for one in functions[instance.function].captures.values()):
            yield root


def _reason(paths: GradientPaths, missing: MissingGradient) -> Reason | None:
    """Return the reason; None if the program stops the gradient on purpose, or if it cannot be told."""
    way = paths.to_loss(missing)
    if way is None or way.has_unknown_parts:
        return None
    path, array = way.path_from(missing.uid), None
    if path is None and missing.op:
        array = way.array_of(missing.uid)
    if array is not None:
        at = paths.frame(array[0])
        return Reason(
            "takes the values of a tensor as a NumPy array, and no gradient", _TENSORS, at, True, array[0].type
        )
    if path is None:
        made = paths.training.variables.creation_line(missing.uid)
        return Reason("", _UNUSED, made, False)
    if path.stop is None:
        why = "runs outside of the tape, or an op between it and the loss has no gradient"
        return Reason(why, _INSIDE, paths.frame(path.first), True, path.first.type)
    if path.stop.type in GRADIENT_BLOCKS:
        return None
    return Reason(_stop_words(path.stop.type), _SMOOTH, paths.frame(path.stop), True, path.stop.type)


def _stop_words(op: str) -> str:
    if op in PYTHON_OPS:
        return f"calls Python ({op}), which passes no gradient"
    if op in COMPARISONS:
        return f"compares ({op}), and what follows has no gradient"
    return f"lets no gradient through ({op}: integers and steps have none)"


def _finding(paths: GradientPaths, reason: Reason, variables: list[MissingGradient], steps: int) -> RuleFinding:
    index = paths.training.variables
    names = [index.name(one.uid) for one in variables]
    what = f"`{names[0]}`" if len(names) == 1 else f"{pluralise(len(names), 'variable')}, `{names[0]}` first"
    made = index.creation_line(variables[0].uid)
    where = f" (made in line {made.line})" if made is not None and made != reason.frame else ""
    it = "it" if len(names) == 1 else "them"
    said = f"the tape gives None for {what}{where} in each of {pluralise(steps, 'step')}"
    why = (
        f"{reason.why}: {said}, so nothing trains {it}"
        if reason.is_mistake
        else f"makes trainable weights that the loss does not depend on: {said}"
    )
    evidence = tuple(
        text_evidence("also", name, f"{list(one.shape)}, no gradient", index.creation_line(one.uid))
        for name, one in list(zip(names, variables, strict=True))[:MOST_SHOWN]
    )
    return RuleFinding(
        confidence=0.88 if reason.is_mistake else 0.6,
        why=why,
        fix=reason.fix,
        frame=reason.frame,
        op=reason.op,
        step=0,
        evidence=evidence,
        cause="no-gradient" if reason.is_mistake else "not-in-loss",
        severity=Severity.WRONG if reason.is_mistake else Severity.DOUBTFUL,
    )


_TENSORS = "compute with tensors from the weights to the loss: no .numpy(), np.… or float(…) inside of the tape"
_SMOOTH = (
    "argmax, rounding, comparisons, integers and tf.numpy_function are for metrics: compute the loss of what goes into "
    "them, or of something smooth in their place (softmax, sigmoid, a straight-through estimator); if the layer should "
    "stay as it is, trainable=False"
)
_INSIDE = (
    "call the layer inside of `with tf.GradientTape() as tape:`, with the variables that are asked for; if it should "
    "stay as it is, trainable=False"
)
_UNUSED = (
    "use the output of the layer in the loss, or leave the layer out; if it is there for another model or a checkpoint "
    "(a pooler, a second head), nothing is wrong"
)
