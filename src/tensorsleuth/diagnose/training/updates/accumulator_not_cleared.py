"""Gradients that are added up over steps, used for updates, and never set back to zero."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from tensorsleuth.core.catalog import Frame, Function
from tensorsleuth.core.finding import Basis
from tensorsleuth.core.ops.kinds import VARIABLE_READS, writes_variables
from tensorsleuth.core.ops.views import LINEAR_PASSES
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.health_words import pluralise
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity
from tensorsleuth.diagnose.training.variable_writes import INITIALISER, WrittenVariables
from tensorsleuth.trace.process.process import ProcessTrace

ADDING_OP = "AssignAddVariableOp"
FEWEST_ADDITIONS, FEWEST_UPDATES = 4, 2
MAX_HOPS = 8  # ops from a gradient to the addition, and from the sum to an update
MAX_TENSORS = 200  # that are followed at once


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    accumulators = Accumulators(process.cached(TrainingGraph))
    grown = [handle for handle in accumulators.only_added_to() if accumulators.updates_with(handle) >= FEWEST_UPDATES]
    if grown:
        yield accumulators.finding(grown)


RULE = Rule(id="accumulator-not-cleared", severity=Severity.WRONG, find=find, basis=Basis.GRAPH)


class Accumulators:
    """The variables of a process that gradients are added to."""

    def __init__(self, training_graph: TrainingGraph) -> None:
        self._training = training_graph
        self._written = WrittenVariables(training_graph)
        self._calls = training_graph.call_graphs.calls

    def only_added_to(self) -> list[int]:
        """Return the variables that get gradients, and nothing else after their first value."""
        handles = dict.fromkeys([*self._written.by_functions, *self._written.by_eager_calls])
        return [one for one in handles if one not in self._assigned and self._is_only_added_to(one)]

    @cached_property
    def _assigned(self) -> set[int]:
        """The variables that a function sets to something, also one that XLA compiles or that was not called yet."""
        functions = self._training.process.catalogue.functions.values()
        return {uid for one in functions if INITIALISER not in one.name for uid in _assigned_in(one)}

    def _is_only_added_to(self, handle: int) -> bool:
        inside, calls = self._written.by_functions.get(handle, []), self._written.by_eager_calls.get(handle, [])
        types = [op.type if (op := self._calls.op(call)) is not None else "" for call in calls]
        added = [call for call, kind in zip(calls, types, strict=True) if kind == ADDING_OP]
        if any(one.type != ADDING_OP for one in inside) or types.count("AssignVariableOp") > 1:
            return False
        if len(added) + sum(kind == "AssignVariableOp" for kind in types) < len(calls):
            return False
        spots = [*inside, *(OpNode(ADDING_OP, call=call) for call in added[-1:])]
        many = len(added) + sum(self._training.call_count(self._training.root_id(one)) for one in inside)
        return many >= FEWEST_ADDITIONS and bool(spots) and all(self._adds_gradient(one) for one in spots)

    def _adds_gradient(self, addition: OpNode) -> bool:
        """Return whether a gradient is added, at most divided or scaled; Adagrad adds squares."""
        slots = self._training.neighbours.input_ops(addition)
        level = slots[1] if len(slots) > 1 else []
        for _ in range(MAX_HOPS):
            if len(level) != 1:
                return False
            if self._is_gradient(level[0]):
                return True
            if level[0].type not in LINEAR_PASSES:
                return False
            sources = [one for slot in self._training.neighbours.input_ops(level[0]) for one in slot]
            level = [one for one in sources if one.type not in VARIABLE_READS | {"Const", "Feed", "Cast"}] or sources[
                :1
            ]
        return False

    def _is_gradient(self, op_node: OpNode) -> bool:
        if op_node.function is not None:
            return op_node.is_gradient
        op = self._calls.op(op_node.call)
        return op is not None and (op.forward > 0 or op.type.endswith("Grad"))

    def updates_with(self, handle: int) -> int:
        """Return how often other variables are written with what is in this one."""
        found = 0
        for other, writers in self._written.by_functions.items():
            if other != handle and any(handle in self._training.weights_of(one, MAX_HOPS) for one in writers):
                found = max(found, *(self._training.call_count(self._training.root_id(one)) for one in writers))
        for other, calls in self._written.by_eager_calls.items():
            if other != handle and any(handle == one for call in calls[-1:] for one in self._read_before(call)):
                found = max(found, len(calls) - 1)
        return found

    def _read_before(self, write: int) -> Iterator[int]:
        """Yield all that an eager write is computed from, the handles of variables among it."""
        level, seen = self._calls.inputs(write)[1:], set[int]()
        for _ in range(MAX_HOPS):
            seen.update(level)
            made = (self._training.call_graphs.by_uid(uid) for uid in level)
            calls = {one.call for one in made if one is not None and one.tensor.eager is not None}
            level = [uid for call in calls for uid in self._calls.inputs(call) if uid not in seen][:MAX_TENSORS]
        yield from seen

    def finding(self, handles: list[int]) -> RuleFinding:
        what = f"`{self._training.variables.name(handles[0])}`"
        others = f" and {pluralise(len(handles) - 1, 'other variable')}" if len(handles) > 1 else ""
        why = (
            f"adds gradients to {what}{others}, and updates weights with the sum, but nothing ever sets it back to "
            "zero: "
            "each update repeats the gradients of all steps before it, as with a learning rate that grows without end"
        )
        return RuleFinding(confidence=0.9, why=why, fix=_CLEAR, frame=self._frame(handles[0]), op=ADDING_OP)

    def _frame(self, handle: int) -> Frame | None:
        inside, calls = self._written.by_functions.get(handle, []), self._written.by_eager_calls.get(handle, [])
        return self._written.update_line(inside[0] if inside else OpNode(ADDING_OP, call=calls[-1]))


def _assigned_in(function: Function) -> Iterator[int]:
    for node in function.nodes:
        if node.type != ADDING_OP and node.inputs and writes_variables(node.type):
            argument, _ = node.inputs[0]
            uid = function.captures.get(-1 - argument, {}).get("uid")
            if isinstance(uid, int):
                yield uid


_CLEAR = (
    "after each update: for a in accumulators: a.assign(tf.zeros_like(a)); or let Keras do it: "
    "keras.optimizers.SGD(…, gradient_accumulation_steps=4)"
)
