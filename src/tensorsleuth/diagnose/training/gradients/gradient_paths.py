"""The paths from a variable to a loss, and the ops on them that pass no gradient."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tensorsleuth.core.catalog import Frame, MissingGradient
from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.core.ops.elementwise import COMPARISONS
from tensorsleuth.core.ops.gradients import GRADIENT_BLOCKS, GRADIENT_CUTS, STEP_FUNCTIONS
from tensorsleuth.core.ops.kinds import CALLS, FEED, VARIABLE_READS, VIEWS
from tensorsleuth.core.ops.views import SHAPE_ONLY_OPS
from tensorsleuth.diagnose.graph.neighbours import Neighbours, OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.training.gradients.unrecorded_makers import UnrecordedMakers
from tensorsleuth.trace.dataflow.call_graph import CallGraphs
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor, uid_of
from tensorsleuth.trace.process.process import ProcessTrace

MAX_OPS = 20_000  # between the weights and a loss
DIFFERENTIABLE_DTYPES = ("float", "complex", "variant", "resource")
SAME_COLUMNS = ("min", "max", "neg", "zero", "pos")  # by which a tensor is known again


class GradientPaths:
    """The losses of one process, followed back op by op; `tf.stop_gradient` is an op here, and not passed through."""

    def __init__(self, process: ProcessTrace) -> None:
        self._process = process
        self.training = process.cached(TrainingGraph)
        self.graphs = CallGraphs(process, VIEWS - GRADIENT_BLOCKS)
        self.neighbours = Neighbours(self.graphs)
        self._makers = UnrecordedMakers(self.graphs)
        self._ways: dict[OpNode, LossAncestors] = {}

    def to_loss(self, missing: MissingGradient) -> LossAncestors | None:
        """Return all that the loss of a tape was computed from, in the last step; None if the loss is unknown."""
        loss = self._eager_loss(missing.op) if missing.op else self._loss_in_function(missing)
        if loss is None:
            return None
        if loss not in self._ways:
            self._ways[loss] = LossAncestors(self, loss)
        return self._ways[loss]

    def inputs(self, op_node: OpNode) -> Iterator[OpNode]:
        """Yield the ops that compute its inputs; in eager code, those of integers too."""
        for slot in self.neighbours.input_ops(op_node):
            yield from slot
        for uid in self.graphs.calls.inputs(op_node.call) if op_node.instance is None else ():
            call = self._makers.maker(uid, op_node.call) if self.graphs.by_uid(uid) is None else None
            op = self.graphs.calls.op(call) if call is not None else None
            if op is not None and call is not None:
                yield OpNode(op.type, call=call)

    def _eager_loss(self, number: int) -> OpNode | None:
        op, events = self._process.catalogue.eager.get(number), self._process.events
        if op is None:
            return None
        first, end = op.tensor_bounds
        rows = events[(events["tensor"] >= first) & (events["tensor"] < end)]
        made = self.graphs.by_uid(uid_of(rows[-1])) if len(rows) else None
        return self.neighbours.node_of(made) if made is not None else None

    def _loss_in_function(self, missing: MissingGradient) -> OpNode | None:
        """Return the op of that name in a function that trains with the variable; of several, one with a gradient."""
        functions, found = self._process.catalogue.functions, []
        for instance, function in self.training.instances:
            captures = functions[self.training.root_instance(instance).function].captures.values()
            if any(one.get("uid") == missing.uid for one in captures):
                nodes = (number for number, node in enumerate(function.nodes) if node.name == missing.loss)
                found += [OpNode(function.nodes[number].type, instance, function, number) for number in nodes]
        return next((one for one in found if self.training.begins_gradients(one)), next(iter(found), None))

    def frame(self, op_node: OpNode) -> Frame | None:
        site = self.neighbours.site(op_node)
        return site.frame if site is not None else None


@dataclass(frozen=True)
class Path:
    """The first op from a variable to a loss that passes no gradient; None if all of them do."""

    stop: OpNode | None
    first: OpNode  # the op that takes the variable's value


class LossAncestors:
    """All ops that a loss was computed from."""

    def __init__(self, paths: GradientPaths, loss: OpNode) -> None:
        self._paths = paths
        self.loss = loss
        self._users: dict[OpNode, list[OpNode]] = defaultdict(list)
        self._read(loss)

    def _read(self, loss: OpNode) -> None:
        level, seen = [loss], {loss}
        while level and len(seen) < MAX_OPS:
            found: dict[OpNode, None] = {}
            for user in level:
                for source in dict.fromkeys(self._paths.inputs(user)):
                    self._users[source].append(user)
                    found[source] = None
            level = [one for one in found if one not in seen]
            seen.update(level)
        self.is_complete = not level

    @cached_property
    def has_unknown_parts(self) -> bool:
        """Return whether a function took part whose inside was not recorded."""
        known = self._paths.graphs.flow.has_callees
        return not self.is_complete or any(
            (one.type in CALLS and one.instance is not None and not known(one.instance, one.node_index))
            or (one.instance is None and one.type.startswith("__"))
            for one in [self.loss, *self._users]
        )

    def path_from(self, handle: int) -> Path | None:
        """Return the way from a variable to the loss; None if the loss does not depend on it."""
        users = self._users_of(handle)
        if not users:
            return None
        first, seen, stops = next(iter(users)), set(users), list[OpNode]()
        while users:
            level = []
            for user in users:
                if self._stops(user):
                    stops.append(user)
                elif user == self.loss:
                    return Path(None, first)
                elif user.type not in SHAPE_ONLY_OPS:
                    level.append(user)
            users = dict.fromkeys(user for one in level for user in self._users[one] if user not in seen)
            seen.update(users)
        on_purpose = (one for one in stops if one.type in GRADIENT_BLOCKS)
        stop = next(on_purpose, next(iter(stops), None))
        return Path(stop, first) if stop is not None else None

    def _users_of(self, handle: int) -> dict[OpNode, None]:
        """Return the ops that take the value of a variable. Eager ops may read it themselves."""
        reads = [one for one in self._users if one.type in VARIABLE_READS and self._handle(one) == handle]
        readers = (one for one in [self.loss, *self._users] if one.instance is None and one.type not in VARIABLE_READS)
        own = [one for one in readers if handle in self._paths.graphs.calls.inputs(one.call)]
        return dict.fromkeys([*(user for read in reads for user in self._users[read]), *own])

    def array_of(self, handle: int) -> tuple[OpNode, ObservedTensor] | None:
        """Return the array of Python that has the values of a tensor computed from a variable, and that tensor."""
        feeds = [one for one in self._users if one.type == FEED]
        made = {_values(one): spot for spot in feeds for one in self._paths.neighbours.recorded_outputs(spot)}
        made.pop(None, None)
        for tensor in self._computed_from(handle) if made else ():
            spot = made.get(_values(tensor))
            if spot is not None and spot.call > tensor.call:
                return spot, tensor
        return None

    def _computed_from(self, handle: int) -> Iterator[ObservedTensor]:
        """Yield what eager code computed from a variable in the step of the loss."""
        calls, step = self._paths.graphs.calls, self._paths.graphs.calls.step(self.loss.call)
        level, seen = [one for one in calls.consumers(handle) if calls.step(one) == step], set[int]()
        while level and len(seen) < MAX_OPS:
            seen.update(level)
            uids = [
                uid
                for call in level
                for made in self._paths.graphs.of_call(call).returned_uids.values()
                for uid in made
            ]
            yield from (one for uid in uids if (one := self._paths.graphs.by_uid(uid)) is not None)
            level = [
                call for uid in uids for call in calls.consumers(uid) if call not in seen and calls.step(call) == step
            ]

    def _handle(self, read: OpNode) -> int | None:
        if read.instance is None:
            return next(iter(self._paths.graphs.calls.inputs(read.call)), None)
        return self._paths.training.variable_handle(read)

    def _stops(self, op_node: OpNode) -> bool:
        if op_node.type in STEP_FUNCTIONS | COMPARISONS | GRADIENT_CUTS:
            return True
        if op_node.instance is None and not op_node.uids:  # an integer or a boolean, which has no row
            return op_node.type not in SHAPE_ONLY_OPS
        dtype = self._paths.neighbours.dtype(op_node)
        return (
            op_node.type not in SHAPE_ONLY_OPS
            and bool(dtype)
            and not any(one in dtype for one in DIFFERENTIABLE_DTYPES)
        )


def _values(one: ObservedTensor) -> tuple[float, ...] | None:
    """Return the statistics of a tensor, if they are those of no other."""
    row = one.row
    if row is None or not row["flags"] & EventFlag.RANGED or row["min"] == row["max"]:
        return None
    return tuple(float(row[name]) for name in SAME_COLUMNS)
