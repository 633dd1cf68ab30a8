"""Weights that start at random, take part in the loss, may be trained, and are never written: no optimizer has them."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.ops.kinds import READS
from tensorsleuth.diagnose.graph.neighbours import Spot
from tensorsleuth.diagnose.graph.training import Training
from tensorsleuth.diagnose.health_words import many
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, piece
from tensorsleuth.diagnose.training.eager_weights import LeftEagerly
from tensorsleuth.diagnose.training.variable_writes import Written
from tensorsleuth.trace.process.process import ProcessTrace

FEWEST_STEPS = 10
MOST_SHOWN = 4
Shape = tuple[int, ...]


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.once(Training)
    written = Written(training)
    for root in training.roots:
        left = [one for one in _trainable(training, root).items() if written.stays_at_random(one[0])]
        update = _update(training, written, root)
        if left and update is not None and (steps := training.calls_of(root)) >= FEWEST_STEPS:
            yield _finding(training, written, left, update, steps)
    for left_eagerly in LeftEagerly(training, written).found(FEWEST_STEPS):
        yield _finding(training, written, *left_eagerly)


RULE = Rule(id="not-in-optimizer", severity=Severity.WRONG, find=find)


def _trainable(training: Training, root: int) -> dict[int, Shape]:
    """The variables that a function that trains reads on its way to the loss, with their shapes."""
    catalogue = training.process.catalogue
    captures = catalogue.functions[catalogue.instances[root].function].captures.values()
    named = {int(one["uid"]): tuple(one.get("shape") or ()) for one in captures if one.get("trainable")}
    return {handle: named[handle] for handle in _read(training, root) if handle in named}


def _read(training: Training, root: int) -> dict[int, None]:
    reads = (spot for spot in training.forward(READS) if training.root_of(spot) == root)
    handles = (training.handle(spot) for spot in reads if training.is_differentiated(spot))
    return dict.fromkeys(handle for handle in handles if handle is not None)


def _update(training: Training, written: Written, root: int) -> Spot | None:
    """An op of the same function that writes weights."""
    trainable = set(_trainable(training, root))
    spots = [spot for handle, writers in written.by_functions.items() if handle in trainable for spot in writers]
    return next((spot for spot in spots if training.root_of(spot) == root), None)


def _finding(
    training: Training, written: Written, left: list[tuple[int, Shape]], update: Spot, steps: int
) -> RuleFinding:
    variables = training.variables
    names = [variables.name(handle) for handle, _ in left]
    what = f"`{names[0]}`" if len(left) == 1 else f"{many(len(left), 'variable')}, `{names[0]}` first"
    made = variables.made_at(left[0][0])
    where = f" (made in line {made.line})" if made is not None else ""
    why = (
        f"updates the weights, but not {what}{where}: the loss is computed with it, it may be trained and started at "
        f"random, and in {steps:,} steps nothing ever wrote it"
    )
    evidence = tuple(
        piece("also", name, f"{list(shape)}, never written", variables.made_at(handle))
        for name, (handle, shape) in list(zip(names, left, strict=True))[:MOST_SHOWN]
    )
    return RuleFinding(
        confidence=0.9,
        why=why,
        fix=_ALL,
        frame=written.updated_at(update),
        op=update.type,
        evidence=evidence,
    )


_ALL = (
    "collect model.trainable_variables after the model has been built (called once), and from every part of it; a "
    "layer in a Lambda or in a container that Keras does not track has to be added; if it should stay constant, "
    "use trainable=False"
)
