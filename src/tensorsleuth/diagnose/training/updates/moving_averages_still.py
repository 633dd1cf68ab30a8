"""Batch normalisation in a session whose moving averages nothing updates: the collection UPDATE_OPS was never run."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.ops.kinds import BATCH_NORMS
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.health_words import pluralise
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.loops import SESSION_PREFIX
from tensorsleuth.diagnose.training.variable_writes import WrittenVariables
from tensorsleuth.trace.process.process import ProcessTrace

FEWEST_STEPS = 16
MOVING = ("moving_mean", "moving_variance")
MOMENTS = "/moments/"  # the statistics of a batch, in the scope of their layer
MOST_SHOWN = 4


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    written = WrittenVariables(training)
    for root, instance in training.roots.items():
        function = process.catalogue.functions[instance.function]
        steps = training.call_count(root)
        if function.name.startswith(SESSION_PREFIX) and steps >= FEWEST_STEPS:
            still = [one for one in _averages(training, root) if written.is_only_initialised(one)]
            used = [one for one in still if _is_used(training, one)]
            update = _update(training, written, root)
            if used and update is not None:
                yield _finding(training, written, used, update, steps)


RULE = Rule(id="moving-averages-still", severity=Severity.WRONG, find=find)


def _averages(training_graph: TrainingGraph, root: int) -> list[int]:
    """Return the moving averages of layers that normalise by the statistics of the batch in a training run."""
    names = [one for one in training_graph.variables.names.items() if one[1].rpartition("/")[2] in MOVING]
    ops = set(_batch_statistics(training_graph, root))
    return [handle for handle, name in names if any(op.startswith(f"{name.rpartition('/')[0]}/") for op in ops)]


def _batch_statistics(training_graph: TrainingGraph, root: int) -> Iterator[str]:
    """Yield the names of ops that compute statistics of a batch."""
    for instance, function in training_graph.instances:
        if training_graph.root_instance(instance).id == root:
            for node in function.nodes:
                is_fused = node.type in BATCH_NORMS and bool(node.attrs.get("is_training"))
                if node.forward is None and (is_fused or MOMENTS in node.name):
                    yield node.name


def _is_used(training_graph: TrainingGraph, handle: int) -> bool:
    """Return whether a run that does not train reads it."""
    catalogue = training_graph.process.catalogue
    for instance, function in catalogue.called_functions():
        captures = {one.get("uid") for one in function.captures.values()}
        if instance.id not in training_graph.roots and handle in captures:
            written_there = {
                int(function.captures.get(writer.argument, {}).get("uid") or -1)
                for writer in training_graph.variables.writers.get(instance.id, [])
            }
            if handle not in written_there:
                return True
    return False


def _update(training_graph: TrainingGraph, written: WrittenVariables, root: int) -> OpNode | None:
    """Return an op of the training run that updates weights."""
    spots = (spot for writers in written.by_functions.values() for spot in writers)
    return next((spot for spot in spots if training_graph.root_id(spot) == root), None)


def _finding(
    training_graph: TrainingGraph, written: WrittenVariables, handles: list[int], update: OpNode, steps: int
) -> RuleFinding:
    names = [training_graph.variables.name(one) for one in handles]
    why = (
        f"trains without the updates of batch normalisation: {pluralise(len(names), 'moving average')}, "
        f"`{names[0]}` first, still {'have' if len(names) > 1 else 'has'} the first value after {steps:,} steps that "
        "normalised by the batch, and runs that do not train read it"
    )
    evidence = tuple(
        text_evidence("also", name, "written once, by its initializer", training_graph.variables.creation_line(handle))
        for name, handle in list(zip(names, handles, strict=True))[:MOST_SHOWN]
    )
    return RuleFinding(
        confidence=0.9,
        why=why,
        fix=_UPDATES,
        frame=written.update_line(update),
        op=update.type,
        evidence=evidence,
    )


_UPDATES = (
    "run them with the optimizer: with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)): "
    "train_op = optimizer.minimize(loss)"
)
