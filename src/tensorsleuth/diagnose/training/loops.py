"""The training loops of a program, alike for eager code, functions and sessions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Frame, Function, Instance
from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.training.eager_losses import EagerLosses
from tensorsleuth.diagnose.training.optimizer import losses_of, optimizer_line
from tensorsleuth.diagnose.training.variable_writes import WrittenVariables
from tensorsleuth.trace.process.process import ProcessTrace

SESSION_PREFIX = "Session.run("  # of the functions that stand for runs of sessions


@dataclass(frozen=True)
class TrainingLoop:
    """Code that computes gradients of variables, again and again."""

    variables: frozenset[int]  # whose gradients it computes, by the uids of their handles
    calls: Array  # the numbers of the calls that compute the loss, oldest first
    line: Frame | None  # that asks for the gradients
    op: str  # that makes the loss, or the function that is called
    losses: Array  # as far as they were recorded

    def __len__(self) -> int:
        return len(self.calls)


class TrainingLoops:
    """The loops of one process. `process.cached(TrainingLoops)` looks once."""

    def __init__(self, process: ProcessTrace) -> None:
        self._process = process
        self.training = process.cached(TrainingGraph)
        self.written = WrittenVariables(self.training)

    @cached_property
    def all(self) -> list[TrainingLoop]:
        return [*self._eager(), *self._in_functions()]

    def is_written_after(self, handle: int, call: int) -> bool:
        """Return whether anything writes a variable in a call or after it."""
        if any(other > call for other in self.written.by_eager_calls.get(handle, ())):
            return True
        roots = {self.training.root_id(spot) for spot in self.written.by_functions.get(handle, ())}
        return handle in self.written.by_compiled or any(self._last_call(root) >= call for root in roots)

    def writes_before(self, handle: int, call: int) -> int:
        """Return how often eager code wrote a variable before a call: once where it was only initialised."""
        return sum(other < call for other in self.written.by_eager_calls.get(handle, ()))

    @property
    def has_optimizer(self) -> bool:
        """Return whether the program made a Keras optimizer."""
        return optimizer_line(self.training) is not None or any(
            role == "optimizer" for _, role in self._process.catalogue.variables.values()
        )

    def _last_call(self, root: int) -> int:
        return int(self._calls_of(root).max(initial=-1))

    def _eager(self) -> Iterator[TrainingLoop]:
        known = self._process.cached(EagerLosses)
        for node, rows in known.rows.items():
            op = known.ops[node]
            gradients = (one for one in self._process.catalogue.eager.values() if one.forward == op.id)
            site = next((one.site for one in gradients), op.site)
            asked = frozenset(self._process.catalogue.losses[op.id])
            yield TrainingLoop(asked, rows["step"].astype(np.int64), self._line(site), op.type, rows["max"])

    def _in_functions(self) -> Iterator[TrainingLoop]:
        catalogue = self._process.catalogue
        for root, instance in self.training.roots.items():
            function = catalogue.functions[instance.function]
            calls, variables = self._calls_of(root), self._differentiated(instance, function)
            if len(calls) and variables:
                losses = (one for spot, one in self._losses.items() if self.training.root_id(spot) == root)
                line = self._gradient_line(instance)
                yield TrainingLoop(variables, calls, line, function.name, next(losses, calls[:0]))

    @cached_property
    def _losses(self) -> dict[OpNode, Array]:
        return losses_of(self.training)

    def _differentiated(self, instance: Instance, function: Function) -> frozenset[int]:
        """Return the trainable variables of a function whose gradients it computes."""
        captured = [one for one in function.captures.values() if one.get("trainable") and one.get("uid") is not None]
        handles = frozenset(int(one["uid"]) for one in captured)
        if not function.name.startswith(SESSION_PREFIX):
            return handles & self._process.catalogue.losses.get(0, set())
        shapes = {tuple(one.get("shape") or ()) for one in captured} - {()}
        is_asked = bool(handles & self.written.by_functions.keys() & self._written_by(instance.id))
        return handles if is_asked or shapes & set(self._returned_gradients(instance, function)) else frozenset()

    def _written_by(self, root: int) -> set[int]:
        written = self.written.by_functions.items()
        return {handle for handle, spots in written if any(self.training.root_id(spot) == root for spot in spots)}

    def _returned_gradients(self, instance: Instance, function: Function) -> Iterator[tuple[int, ...]]:
        """Yield the shapes of the gradients that a session fetches."""
        events = self._process.events
        for at in range(len(function.returns)):
            for source in self.training.call_graphs.flow.output_sources(instance, at):
                tensor = self._process.tensor(source.tensor)
                if tensor is not None and tensor.node is not None and tensor.node.forward is not None:
                    for row in events[events["tensor"] == source.tensor][:1]:
                        yield self._process.shape_of(row) or ()

    def _gradient_line(self, instance: Instance) -> Frame | None:
        nodes = self._process.catalogue.functions[instance.function].nodes
        return next((self._line(node.site) for node in nodes if node.forward is not None), None)

    def _line(self, site: int) -> Frame | None:
        known = self._process.catalogue.sites.get(site)
        return known.frame if known is not None else None

    def _calls_of(self, root: int) -> Array:
        ops = [op.id for op in self._process.catalogue.eager.values() if op.instance == root]
        calls = self._process.calls
        found: Array = calls["call"][(calls["kind"] == CallKind.FUNCTION) & np.isin(calls["op"], ops)].astype(np.int64)
        return found
