"""Trainable weights that start at random, take part in the loss, and that no optimizer writes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.ops.kinds import VARIABLE_READS
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.health_words import pluralise
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.eager_weights import UntrainedEagerWeights
from tensorsleuth.diagnose.training.loops import SESSION_PREFIX
from tensorsleuth.diagnose.training.optimizer import losses_of
from tensorsleuth.diagnose.training.variable_writes import WrittenVariables
from tensorsleuth.trace.process.process import ProcessTrace

FEWEST_STEPS = 10
MOST_SHOWN = 4
MAX_HOPS_TO_WEIGHTS = 80  # ops, from a loss
Shape = tuple[int, ...]


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    written_variables = WrittenVariables(training)
    for root in training.roots:
        asked = process.catalogue.missing_gradients  # an optimizer may have them, and gets no gradient
        trainable = [one for one in _trainable(training, root).items() if one[0] not in asked]
        left = [one for one in trainable if written_variables.stays_at_random(one[0])]
        update = _update(training, written_variables, root)
        if left and update is not None and (steps := training.call_count(root)) >= FEWEST_STEPS:
            yield _finding(training, written_variables, left, update, steps)
    yield from _of_sessions(training, written_variables)
    for left_eagerly in UntrainedEagerWeights(training, written_variables).find(FEWEST_STEPS):
        yield _finding(training, written_variables, *left_eagerly)


RULE = Rule(id="not-in-optimizer", severity=Severity.WRONG, find=find, supersedes=("predictions-collapsed",))


def _of_sessions(training_graph: TrainingGraph, written_variables: WrittenVariables) -> Iterator[RuleFinding]:
    """Yield what two optimizers of a session leave out that train the same variables.

    One optimizer may leave out what is meant to stay at random; the `var_list` of one of two that have the same is
    taken for the other's.
    """
    for root, other in combinations(training_graph.roots, 2):
        lines = [_applied(training_graph, written_variables, one) for one in (root, other)]
        if not lines[0] or lines[0].keys() != lines[1].keys() or set(lines[0].values()) & set(lines[1].values()):
            continue
        read = dict.fromkeys([*_behind_losses(training_graph, root), *_behind_losses(training_graph, other)])
        captured = _captured(training_graph, root) | _captured(training_graph, other)
        left = sorted((one, captured[one]) for one in read if one in captured and one not in lines[0])
        steps = min(training_graph.call_count(root), training_graph.call_count(other))
        still = all(written_variables.is_only_initialised(handle) for handle, _ in left)
        random = any(written_variables.starts_at_random(handle) for handle, _ in left)
        if random and still and steps >= FEWEST_STEPS:
            yield _finding_of_rivals(
                training_graph,
                left,
                sorted({line for one in lines for line in one.values() if line is not None}, key=lambda one: one.line),
                steps,
            )


def _applied(training_graph: TrainingGraph, written_variables: WrittenVariables, root: int) -> dict[int, Frame | None]:
    """Return the variables that optimizers of a session write in a run, with the line of the update."""
    catalogue = training_graph.process.catalogue
    if not catalogue.functions[catalogue.instances[root].function].name.startswith(SESSION_PREFIX):
        return {}
    return {
        handle: written_variables.update_line(spot)
        for handle, spots in written_variables.by_functions.items()
        for spot in spots
        if "Apply" in spot.type and training_graph.root_id(spot) == root
    }


def _behind_losses(training_graph: TrainingGraph, root: int) -> Iterator[int]:
    """Yield the variables that the losses of a run are computed from."""
    for spot in losses_of(training_graph):
        if training_graph.root_id(spot) == root:
            yield from training_graph.weights_of(spot, MAX_HOPS_TO_WEIGHTS)


def _captured(training_graph: TrainingGraph, root: int) -> dict[int, Shape]:
    catalogue = training_graph.process.catalogue
    captures = catalogue.functions[catalogue.instances[root].function].captures.values()
    return {int(one["uid"]): tuple(one.get("shape") or ()) for one in captures if one.get("trainable")}


def _trainable(training_graph: TrainingGraph, root: int) -> dict[int, Shape]:
    """Return the variables that a training function reads on the path to the loss, with their shapes."""
    named = _captured(training_graph, root)
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


def _finding_of_rivals(
    training_graph: TrainingGraph, left: list[tuple[int, Shape]], lines: list[Frame], steps: int
) -> RuleFinding:
    variables = training_graph.variables
    names = [variables.name(handle) for handle, _ in left]
    made = variables.creation_line(left[0][0])
    where = f" (made in line {made.line})" if made is not None else ""
    what = pluralise(len(left), "variable")
    why = (
        f"trains the variables that line {lines[0].line} trains, and no optimizer has {what}, `{names[0]}` "
        f"first{where}: a loss is computed with it, it started at random, and in {steps:,} steps nothing ever wrote it"
    )
    evidence = tuple(
        text_evidence("also", name, f"{list(shape)}, written once, by its initializer", variables.creation_line(handle))
        for name, (handle, shape) in list(zip(names, left, strict=True))[:MOST_SHOWN]
    )
    return RuleFinding(
        confidence=0.88, why=why, fix=_VAR_LIST, frame=lines[-1], op="minimize", evidence=evidence, step=0
    )


_VAR_LIST = (
    "compare the var_list of both optimizers: each minimize gets the variables of its own part, the generator's loss "
    "those of the generator"
)
_ALL = (
    "collect model.trainable_variables after the model has been built (called once), and from every part of it; a "
    "layer in a Lambda or in a container that Keras does not track has to be added; if it should stay constant, "
    "use trainable=False"
)
