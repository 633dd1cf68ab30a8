"""Dropout that is on where a model is measured: `training=True` in a function that does not train."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.catalog import Frame, Function, Instance
from tensorsleuth.core.dtypes import RESOURCE
from tensorsleuth.core.fit_position import Phase
from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.diagnose.graph.neighbours import Spot
from tensorsleuth.diagnose.graph.training import Training
from tensorsleuth.diagnose.health_words import many
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, piece
from tensorsleuth.diagnose.source_lines import code_at
from tensorsleuth.trace.process.process import ProcessTrace

FEWEST_CALLS = 2
DRAWS = 3  # of one and the same input: who draws again and again wants the spread
RANDOM = "RandomUniform"
CALLS = ("call", "__call__")  # a model's own


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.once(Training)
    if not training.roots:
        return
    trained = {uid for root in training.roots for uid in _weights(training, root)}
    for instance, function in process.catalogue.running():
        root = training.root(instance)
        masks = [number for number, node in enumerate(function.nodes) if _is_mask(node.name, node.type)]
        if masks and root.id not in training.roots and _weights(training, root.id) & trained:
            yield from _judged(training, root, [Spot(RANDOM, instance, function, number) for number in masks])


RULE = Rule(id="dropout-in-evaluation", severity=Severity.WRONG, find=find)


def _is_mask(name: str, kind: str) -> bool:
    return RANDOM in kind and "dropout" in name.lower()


def _weights(training: Training, root: int) -> set[int]:
    captures = _function(training, root).captures.values()
    return {int(one["uid"]) for one in captures if one.get("trainable") and one.get("uid") is not None}


def _function(training: Training, root: int) -> Function:
    catalogue = training.process.catalogue
    return catalogue.functions[catalogue.instances[root].function]


def _judged(training: Training, root: Instance, masks: list[Spot]) -> Iterator[RuleFinding]:
    calls = _calls(training, root)
    phases = {batch.phase for call in calls if (batch := training.process.batches.of_call(call)) is not None}
    given = _given(training, root)
    if len(calls) < FEWEST_CALLS or _draws(training, calls, given):
        return
    measured = Phase.EVALUATE in phases or (not phases & {Phase.PREDICT} and len(given) > 1)
    yield _finding(training, masks, len(calls), measured)


def _calls(training: Training, root: Instance) -> list[int]:
    """When Python called it, after training had begun."""
    process = training.process
    ops = [op.id for op in process.catalogue.eager.values() if op.instance == root.id]
    rows = process.calls[(process.calls["kind"] == CallKind.FUNCTION) & np.isin(process.calls["op"], ops)]
    return [int(call) for call in rows["call"][rows["step"] >= 0]]


def _given(training: Training, root: Instance) -> list[int]:
    """Return the tensor arguments that it is called with: samples, labels."""
    function = _function(training, root.id)
    numbers = range(len(function.arguments))
    return [at for at in numbers if at not in function.captures and function.argument_dtypes[at] != RESOURCE]


def _draws(training: Training, calls: list[int], given: list[int]) -> bool:
    """Return whether it is called with the same samples again and again."""
    inputs = (training.moments.calls.inputs(call) for call in calls)
    seen = Counter(tuple(uids[at] for at in given if at < len(uids)) for uids in inputs) if given else Counter()
    return max(seen.values(), default=0) >= DRAWS


def _line(training: Training, mask: Spot) -> Frame | None:
    """Return the line to change: the one with `training=True`, else the call of the model, else of the dropout."""
    site = training.around.site(mask)
    frames = site.frames[: site.user + 1] if site is not None else ()
    said = (frame for frame in reversed(frames) if "training=True" in (code_at(training.process, frame) or ""))
    inner = next((at for at, frame in enumerate(frames) if frame.function in CALLS), 0)
    outside = frames[inner - 1] if inner and frames[inner - 1].function != "<module>" else None
    return next(said, None) or outside or training.frame(mask)


def _finding(training: Training, masks: list[Spot], calls: int, measured: bool) -> RuleFinding:
    layers = list(dict.fromkeys(layer for spot in masks if (layer := training.layer(spot)) is not None))
    named = f", {layers[0]} first" if layers else ""
    why = (
        f"runs the model with dropout on in a function without gradients, {many(calls, 'time')} "
        f"({many(len(masks), 'mask')}{named}): the results are worse than the model is, and differ each time"
    )
    evidence = tuple(piece("also", layer, "a random mask in each call") for layer in layers[:4])
    return RuleFinding(
        confidence=0.88 if measured else 0.6,
        why=why,
        fix=_OFF,
        frame=_line(training, masks[0]),
        op=RANDOM,
        evidence=evidence,
        severity=Severity.WRONG if measured else Severity.DOUBTFUL,
    )


_OFF = (
    "pass training=False where the model is measured or used (Keras does so in evaluate and predict, unless the layer "
    "was called with training=True); if the variance over several draws is wanted (MC dropout), this is intended"
)
