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
from tensorsleuth.diagnose.training.weights.rival_updates import RivalUpdates, Update
from tensorsleuth.trace.process.process import ProcessTrace

FEWEST_STEPS = 10
MOST_SHOWN = 4
Shape = tuple[int, ...]


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    written_variables = WrittenVariables(training)
    explained = set[int]()
    for found, roots in _of_rivals(training, written_variables):
        explained |= roots
        yield found
    for root in (one for one in training.roots if one not in explained):
        asked = process.catalogue.missing_gradients  # an optimizer may have them, and gets no gradient
        trainable = [one for one in _trainable(training, root).items() if one[0] not in asked]
        left = [one for one in trainable if written_variables.stays_at_random(one[0])]
        update = _update(training, written_variables, root)
        if left and update is not None and (steps := training.call_count(root)) >= FEWEST_STEPS:
            yield _finding(training, written_variables, left, update, steps)
    for left_eagerly in UntrainedEagerWeights(training, written_variables).find(FEWEST_STEPS):
        yield _finding(training, written_variables, *left_eagerly)


RULE = Rule(id="not-in-optimizer", severity=Severity.WRONG, find=find, supersedes=("predictions-collapsed",))


def _of_rivals(
    training_graph: TrainingGraph, written_variables: WrittenVariables
) -> Iterator[tuple[RuleFinding, set[int]]]:
    """Yield what two updates leave out that train the same variables, with the functions of both.

    One optimizer may leave out what is meant to stay at random; the variables of one of two that have the same are
    taken for the other's.
    """
    rivals = RivalUpdates(training_graph, written_variables)
    for pair in rivals.pairs():
        roots = {one.root for one in pair}
        left = _left_by_rivals(training_graph, rivals, pair)
        steps = min(training_graph.call_count(root) for root in roots)
        still = all(_keeps_first_value(written_variables, handle) for handle, _ in left)
        random = any(written_variables.starts_at_random(handle) for handle, _ in left)
        if still and random and steps >= FEWEST_STEPS:
            yield _finding_of_rivals(training_graph, rivals, pair, left, steps), roots


def _left_by_rivals(
    training_graph: TrainingGraph, rivals: RivalUpdates, pair: tuple[Update, Update]
) -> list[tuple[int, Shape]]:
    """Return the trainable variables behind two updates that both of them leave out."""
    asked, found = training_graph.process.catalogue.missing_gradients, dict[int, Shape]()
    for update in pair:
        captured = _captured(training_graph, update.root)
        left = (one for one in rivals.read_by(update) if one in captured and one not in asked)
        found |= {handle: captured[handle] for handle in left if handle not in update.variables}
    return sorted(found.items())


def _keeps_first_value(written_variables: WrittenVariables, handle: int) -> bool:
    return written_variables.is_never_rewritten(handle) or written_variables.is_only_initialised(handle)


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
    training_graph: TrainingGraph,
    rivals: RivalUpdates,
    pair: tuple[Update, Update],
    left: list[tuple[int, Shape]],
    steps: int,
) -> RuleFinding:
    update, other, is_sure = _wrong_one(rivals, pair, {handle for handle, _ in left})
    variables = training_graph.variables
    names = [variables.name(handle) for handle, _ in left]
    made = variables.creation_line(left[0][0])
    where = f" (made in line {made.line})" if made is not None else ""
    what = pluralise(len(left), "variable")
    they, them = ("it", "it") if len(left) == 1 else ("they", "them")
    sees = f"what its loss judges comes from {them} alone" if is_sure else f"its loss is computed with {them}"
    why = (
        f"trains the variables that line {other.line.line} trains, and no optimizer has {what}, `{names[0]}` "
        f"first{where}: {sees}, {they} started at random, and in {steps:,} steps nothing ever wrote {them}"
    )
    evidence = tuple(
        text_evidence("also", name, f"{list(shape)}, written once, by its initializer", variables.creation_line(handle))
        for name, (handle, shape) in list(zip(names, left, strict=True))[:MOST_SHOWN]
    )
    same = text_evidence("also", "update", f"trains the same {len(update.variables)} variables", other.line)
    return RuleFinding(
        confidence=0.92 if is_sure else 0.75,
        why=why,
        fix=_VAR_LIST if is_sure else _EITHER,
        frame=update.line,
        op="minimize",
        evidence=(same, *evidence),
        step=0,
    )


def _wrong_one(rivals: RivalUpdates, pair: tuple[Update, Update], left: set[int]) -> tuple[Update, Update, bool]:
    """Return the update that was meant for `left`, the other one, and whether that is sure.

    It is the one whose loss sees data only through them. If both do, or none does, the later line was copied.
    """
    first, second = pair
    own = [rivals.takes_own_data(one, left) for one in pair]
    return (first, second, True) if own == [False, True] else (second, first, own == [True, False])


_VAR_LIST = (
    "compare the variables of both updates: each optimizer (var_list, tape.gradient and apply_gradients) gets those of "
    "its own part, the generator's loss those of the generator"
)
_EITHER = (
    "compare the variables of both lines: one of them was meant for those that nothing writes (a generator's loss "
    "trains the generator)"
)
_ALL = (
    "collect model.trainable_variables after the model has been built (called once), and from every part of it; a "
    "layer in a Lambda or in a container that Keras does not track has to be added; if it should stay constant, "
    "use trainable=False"
)
