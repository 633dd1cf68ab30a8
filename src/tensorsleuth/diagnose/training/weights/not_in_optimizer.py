"""Trainable weights that start at random, take part in the loss, and that no optimizer writes."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.ops.kinds import VARIABLE_READS
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.health_words import pluralise
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.eager_weights import UntrainedEagerWeights
from tensorsleuth.diagnose.training.variable_writes import WrittenVariables
from tensorsleuth.trace.process.process import ProcessTrace

FEWEST_STEPS = 10
MOST_SHOWN = 4
Shape = tuple[int, ...]


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    written_variables = WrittenVariables(training)
    for root in training.roots:
        left = [one for one in _trainable(training, root).items() if written_variables.stays_at_random(one[0])]
        update = _update(training, written_variables, root)
        if left and update is not None and (steps := training.call_count(root)) >= FEWEST_STEPS:
            yield _finding(training, written_variables, left, update, steps)
    for left_eagerly in UntrainedEagerWeights(training, written_variables).find(FEWEST_STEPS):
        yield _finding(training, written_variables, *left_eagerly)


RULE = Rule(id="not-in-optimizer", severity=Severity.WRONG, find=find)


def _trainable(training_graph: TrainingGraph, root: int) -> dict[int, Shape]:
    """Return the variables that a training function reads on the path to the loss, with their shapes."""
    catalogue = training_graph.process.catalogue
    captures = catalogue.functions[catalogue.instances[root].function].captures.values()
    named = {int(one["uid"]): tuple(one.get("shape") or ()) for one in captures if one.get("trainable")}
    return {handle: named[handle] for handle in _read(training_graph, root) if handle in named}


def _read(training_graph: TrainingGraph, root: int) -> dict[int, None]:
    reads = (spot for spot in training_graph.forward_ops(VARIABLE_READS) if training_graph.root_id(spot) == root)
    handles = (training_graph.variable_handle(spot) for spot in reads if training_graph.is_differentiated(spot))
    return dict.fromkeys(handle for handle in handles if handle is not None)


def _update(training_graph: TrainingGraph, written_variables: WrittenVariables, root: int) -> OpNode | None:
    """Return an op of the same function that writes weights."""
    trainable = set(_trainable(training_graph, root))
    spots = [
        spot for handle, writers in written_variables.by_functions.items() if handle in trainable for spot in writers
    ]
    return next((spot for spot in spots if training_graph.root_id(spot) == root), None)


def _finding(
    training_graph: TrainingGraph,
    written_variables: WrittenVariables,
    left: list[tuple[int, Shape]],
    update: OpNode,
    steps: int,
) -> RuleFinding:
    variables = training_graph.variables
    names = [variables.name(handle) for handle, _ in left]
    what = f"`{names[0]}`" if len(left) == 1 else f"{pluralise(len(left), 'variable')}, `{names[0]}` first"
    made = variables.creation_line(left[0][0])
    where = f" (made in line {made.line})" if made is not None else ""
    why = (
        f"updates the weights, but not {what}{where}: the loss is computed with it, it may be trained and started at "
        f"random, and in {steps:,} steps nothing ever wrote it"
    )
    evidence = tuple(
        text_evidence("also", name, f"{list(shape)}, never written", variables.creation_line(handle))
        for name, (handle, shape) in list(zip(names, left, strict=True))[:MOST_SHOWN]
    )
    return RuleFinding(
        confidence=0.9,
        why=why,
        fix=_ALL,
        frame=written_variables.update_line(update),
        op=update.type,
        evidence=evidence,
    )


_ALL = (
    "collect model.trainable_variables after the model has been built (called once), and from every part of it; a "
    "layer in a Lambda or in a container that Keras does not track has to be added; if it should stay constant, "
    "use trainable=False"
)
