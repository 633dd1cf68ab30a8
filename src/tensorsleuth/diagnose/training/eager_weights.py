"""Weights that eager code uses in its loss and that no tape differentiates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import EagerOp, UnusedTapeVariables
from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.core.ops.gradients import EAGER_GRADIENT_STOPS
from tensorsleuth.core.ops.kinds import VARIABLE_READS
from tensorsleuth.diagnose.graph.neighbours import MAX_OPS_PER_LEVEL, OpNode
from tensorsleuth.diagnose.graph.training_graph import MAX_HOPS_TO_GRADIENT, TrainingGraph
from tensorsleuth.diagnose.training.variable_writes import WrittenVariables

Shape = tuple[int, ...]
UntrainedWeights = list[tuple[int, Shape]]
SAMPLED_CALLS = 5


class UntrainedEagerWeights:
    """The untrained weights of eager code in one process."""

    def __init__(self, training_graph: TrainingGraph, written_variables: WrittenVariables) -> None:
        self._training = training_graph
        self._written = written_variables
        self._catalogue = training_graph.process.catalogue

    def find(self, fewest: int) -> Iterator[tuple[UntrainedWeights, OpNode, int]]:
        """Yield the weights that keep their initial values, the update of the others, and its steps; once an update."""
        together: dict[OpNode, tuple[UntrainedWeights, list[int]]] = defaultdict(lambda: ([], []))
        for tapes in self._catalogue.unused_tape_variables:
            update = self._update(tapes, fewest)
            for handle, shape in tapes.shapes.items() if update is not None else ():
                steps = self._steps(handle) if self._written.stays_at_random(handle) else 0
                if update is not None and steps >= fewest:
                    together[update][0].append((handle, shape))
                    together[update][1].append(steps)
        yield from ((left, update, min(steps)) for update, (left, steps) in together.items())

    def _update(self, tapes: UnusedTapeVariables, fewest: int) -> OpNode | None:
        """Return the writer of the variables that the tapes were asked about, step by step."""
        for handle in tapes.differentiated:
            calls = self._written.by_eager_calls.get(handle, [])
            op = self._training.call_graphs.calls.op(calls[-1]) if len(calls) > fewest else None  # the first made it
            if op is not None:
                return OpNode(op.type, call=calls[-1])
        in_functions = (spot for handle in tapes.differentiated for spot in self._written.by_functions.get(handle, ()))
        return next(in_functions, None)

    def _steps(self, handle: int) -> int:
        """Return the number of steps that read it on the path to the differentiated value."""
        rows = self._reads[self._reads["inputs"][:, 0] == handle]
        places = [int(op) for op in np.unique(rows["op"])]
        on_the_way = [op for op in places if self._leads_to_loss(rows["call"][rows["op"] == op])]
        return len(np.unique(rows["step"][np.isin(rows["op"], on_the_way)]))

    def _leads_to_loss(self, calls: Array) -> bool:
        """Return whether a line is on the path. Some of its calls tell, as evaluation may use the same line."""
        some = np.unique(np.linspace(0, len(calls) - 1, SAMPLED_CALLS).astype(int))
        return any(self._is_differentiated(int(call)) for call in calls[some])

    @cached_property
    def _reads(self) -> Array:
        calls = self._training.process.calls
        ops = [op.id for op in self._catalogue.eager.values() if op.type in VARIABLE_READS]
        found: Array = calls[(calls["kind"] == CallKind.OP) & np.isin(calls["op"], ops)]
        return found

    def _is_differentiated(self, read: int) -> bool:
        """Return whether a gradient passes through anything computed from it: a gradient op reads what its op read.

        Of one line, the ops of all layers are one op in the catalogue: only the tensors tell which was meant.
        """
        calls, level, seen = self._training.call_graphs.calls, [read], {read}
        for _ in range(MAX_HOPS_TO_GRADIENT):
            taken = [
                user
                for call in level
                for uid in self._float_outputs(call)
                for user in calls.consumers(uid)[:MAX_OPS_PER_LEVEL]
            ]
            users = {call: calls.op(call) for call in taken if call not in seen}
            if any(op is not None and op.forward > 0 for op in users.values()):
                return True
            seen.update(users)
            level = [call for call, op in users.items() if op is not None and _passes_gradient(op)][:MAX_OPS_PER_LEVEL]
        return False

    def _float_outputs(self, call: int) -> list[int]:
        """Return its outputs without indices, which pass no gradient back."""
        moments = self._training.call_graphs
        uids = [uid for made in moments.of_call(call).returned_uids.values() for uid in made]
        made = [(uid, moments.by_uid(uid)) for uid in uids]
        return [uid for uid, one in made if one is not None and "float" in one.dtype]


def _passes_gradient(op: EagerOp) -> bool:
    """Return whether gradients pass through an op; for a function that is unknown."""
    return op.type not in EAGER_GRADIENT_STOPS and op.instance < 0
