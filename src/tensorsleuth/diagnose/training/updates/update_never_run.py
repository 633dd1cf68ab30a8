"""An optimizer of TensorFlow 1 whose op no session runs, in a loop that fetches the loss."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.catalog import Frame, IdleUpdate
from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.core.ops.data_ops import FILE_READS
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.health_words import pluralise
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.variable_writes import WrittenVariables
from tensorsleuth.trace.process.process import ProcessTrace

MOST_SHOWN = 4


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    is_complete = not any(one.get("unseen") for one in process.catalogue.not_covered)
    for idle in process.catalogue.idle_updates.values() if is_complete else ():
        training = process.cached(TrainingGraph)
        written = WrittenVariables(training)
        weights = _weights(process, idle)
        if any(written.starts_at_random(one) for one in weights) and all(
            _is_initial(training, written, one) for one in weights
        ):
            yield _finding(training, idle, weights)


RULE = Rule(id="update-never-run", severity=Severity.WRONG, find=find)


def _weights(process: ProcessTrace, idle: IdleUpdate) -> list[int]:
    """Return the trainable variables that the loss reads."""
    instance = process.catalogue.instances.get(idle.instance)
    function = process.catalogue.functions.get(instance.function) if instance is not None else None
    captures = function.captures.values() if function is not None else ()
    return [int(one["uid"]) for one in captures if one.get("trainable") and one.get("uid") is not None]


def _is_initial(training_graph: TrainingGraph, written: WrittenVariables, handle: int) -> bool:
    """Return whether only its initializer wrote it, and nothing was restored or fed."""
    writers = written.by_functions.get(handle, [])
    return len(writers) == 1 and not _is_loaded(training_graph, writers[0])


def _is_loaded(training_graph: TrainingGraph, writer: OpNode) -> bool:
    values = (
        training_graph.call_graphs.flow.input_sources(writer.instance, writer.node_index) if writer.instance else []
    )
    is_fed = any(source.argument >= 0 for slot in values[1:] for source in slot)
    return is_fed or any(one.type in FILE_READS for one in training_graph.neighbours.ancestors(writer))


def _runs(process: ProcessTrace, idle: IdleUpdate) -> tuple[int, Frame | None]:
    """Return how often the loss was fetched, and the line that does."""
    ops = [op for op in process.catalogue.eager.values() if op.instance == idle.instance]
    calls = process.calls
    count = int(((calls["kind"] == CallKind.FUNCTION) & np.isin(calls["op"], [op.id for op in ops])).sum())
    site = process.catalogue.sites.get(ops[0].site) if ops else None
    return count, site.frame if site is not None else None


def _finding(training_graph: TrainingGraph, idle: IdleUpdate, weights: list[int]) -> RuleFinding:
    process = training_graph.process
    count, line = _runs(process, idle)
    site = process.catalogue.sites.get(idle.site)
    where = f" (line {line.line})" if line is not None else ""
    why = (
        f"makes the op `{idle.op}` that updates the weights, and no session runs it: sessions fetch the loss "
        f"`{idle.loss}` {pluralise(count, 'time')}{where}, and {pluralise(len(weights), 'variable')} keep their random "
        "first values"
    )
    names = [training_graph.variables.name(one) for one in weights[:MOST_SHOWN]]
    evidence = [text_evidence("also", name, "written once, by its initializer") for name in names]
    return RuleFinding(
        confidence=0.9,
        why=why,
        fix=_RUN,
        frame=site.frame if site is not None else line,
        op=idle.op,
        step=0,
        evidence=(text_evidence("also", idle.loss, "fetched here", line), *evidence),
    )


_RUN = (
    "fetch it with the loss: _, value = session.run([train_op, loss], feed_dict=…). If the untrained model is meant to "
    "be measured, nothing is wrong"
)
