"""The way of an eager tensor into a variable: through the arithmetic of an optimizer, or a function that writes."""

from __future__ import annotations

from tensorsleuth.core.ops.kinds import writes_variables
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.trace.dataflow.unseen_writes import UnseenWrites

MAX_HOPS_TO_WRITE = 8  # ops
MAX_CALLS_PER_LEVEL = 50


def leads_to_write(training_graph: TrainingGraph, uid: int) -> bool:
    """Return whether an op, or a function, writes variables with an eager tensor or what is computed from it."""
    calls, unseen = training_graph.call_graphs.calls, UnseenWrites(training_graph.process.catalogue)
    level, seen = [uid], {uid}
    for _ in range(MAX_HOPS_TO_WRITE):
        taken = [call for one in level for call in calls.consumers(one)][:MAX_CALLS_PER_LEVEL]
        for call in taken:
            op = calls.op(call)
            if op is not None and (
                writes_variables(op.type)
                or training_graph.variables.writers.get(op.instance)
                or unseen.written_by(op.type)
            ):
                return True
        made = {
            one
            for call in taken
            for uids in training_graph.call_graphs.of_call(call).returned_uids.values()
            for one in uids
        }
        level = list(made - seen)
        seen |= made
    return False
