"""The case that a cause judges: the op at which a bad value began, its inputs and its neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tensorsleuth.core.catalog import ForwardOp, Frame, Instance, Site
from tensorsleuth.core.ops.elementwise import ELEMENTWISE
from tensorsleuth.core.ops.kinds import SELECTS
from tensorsleuth.core.ops.numerics import COMMUTATIVE, NEUTRAL_NUMBERS
from tensorsleuth.diagnose.graph.neighbours import Neighbours, OpNode
from tensorsleuth.diagnose.graph.value_range import range_of
from tensorsleuth.diagnose.nan.history import ValueGrowth, over_iterations, over_steps
from tensorsleuth.diagnose.nan.origins import Origin, OriginFinder
from tensorsleuth.diagnose.nan.spread import Spread
from tensorsleuth.trace.dataflow.call_graph import Slots, constant_of
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor
from tensorsleuth.trace.dataflow.value_flow import ValueSource
from tensorsleuth.trace.dataflow.variables import VariableWrite
from tensorsleuth.trace.process.layers import LayerLookup

LARGE_INPUT = 1e8  # a number that nobody would expect in a network
LARGE_HALF_INPUT = 100.0
MAX_FORWARD_CALLS = 50  # of one line, that may be what a gradient differentiates


@dataclass(frozen=True)
class Explanation:
    """The answer of a cause: why it happened, and the fix."""

    cause: str
    confidence: float
    why: str  # continues "<line>: …"
    fix: str
    site: Site | None = None  # where the line to change is another than that of the op
    frame: Frame | None = None
    evidence: tuple[ObservedTensor, ...] = ()  # beside what went into the op and came out
    computed: str | None = None  # the op that TensorFlow's optimizer made of it, where that is what came out
    is_timed: bool = True  # the program counts steps, so that the step says when it happened


class Case:
    """One origin of a bad value, with the queries that causes need."""

    def __init__(
        self,
        finder: OriginFinder,
        origin: Origin,
        at: tuple[Instance, int] | None = None,
        seen_at: Case | None = None,
    ) -> None:
        self.finder = finder
        self.origin = origin
        self.out = origin.out
        self.process = finder.process
        self.neighbours = Neighbours(finder.call_graphs)
        self._fused_node = at  # an op that was fused into the one that the birth was seen at,
        self._seen_case = seen_at  # which is this

    @cached_property
    def spread(self) -> Spread:
        return self._seen_case.spread if self._seen_case is not None else Spread(self.finder, self.origin)

    @cached_property
    def candidates(self) -> list[Case]:
        """Return the case itself, then those of the ops that TensorFlow fused into it: one may explain it better."""
        hidden = self.origin.call_graph.fused_ops(self.out) if self.variable_write is None else []
        return [self, *(Case(self.finder, self.origin, at, self) for at in reversed(hidden))]

    @property
    def is_fused(self) -> bool:
        """Return whether it is about an op without a row, which was fused into the one that has one."""
        return self._fused_node is not None

    # ---- the op

    @cached_property
    def op_node(self) -> OpNode | None:
        if self._fused_node is None:
            return self.neighbours.node_of(self.out)
        instance, number = self._fused_node
        function = self.process.catalogue.functions[instance.function]
        return OpNode(function.nodes[number].type, instance, function, number, call=self.out.call)

    @property
    def op(self) -> str:
        if self.variable_write is not None:
            return self.variable_write.op
        return self.op_node.type if self.op_node is not None else self.out.op

    @property
    def node_name(self) -> str:
        node = self.op_node.graph_node if self.op_node is not None else None
        return node.name if node is not None else self.out.tensor.name

    @cached_property
    def variable_write(self) -> VariableWrite | None:
        """Return the write that made the variable bad."""
        if self.origin.call_graph.call == self.out.call:
            return None
        handle = self.finder.variables.handle_of(self.out)
        return self.finder.variables.last_write(handle, self.out.call) if handle is not None else None

    @cached_property
    def slots(self) -> Slots:
        if self._fused_node is None:
            return self.origin.slots
        return self.origin.call_graph.node_inputs(*self._fused_node, self.out.row)

    def input(self, slot: int) -> ObservedTensor | None:
        """Return input number `slot` of the op, if it was recorded itself, and not only what it was computed from."""
        one = self.slots[slot][0] if slot < len(self.slots) and self.slots[slot] else None
        return one if one is not None and self._is_own_input(slot, one) else None

    def _is_own_input(self, slot: int, one: ObservedTensor) -> bool:
        """Return whether a tensor is what the op took: for an op that was fused away, its own inputs stand in."""
        node = self.op_node if self.variable_write is None else None
        if node is None or node.instance is None:
            return True
        sources = self.finder.call_graphs.flow.input_sources(node.instance, node.node_index)
        return slot >= len(sources) or any(
            self._is_source(same, one) for source in sources[slot] for same in self._unchanged(source)
        )

    def _unchanged(self, value_source: ValueSource) -> Iterator[ValueSource]:
        """Yield a tensor, and the one that it equals because TensorFlow removes an op such as `x + 0` or `x * 1`."""
        yield value_source
        tensor = self.process.tensor(value_source.tensor) if value_source.argument < 0 else None
        if tensor is None or tensor.node is None or tensor.instance is None or tensor.function is None:
            return
        neutral = NEUTRAL_NUMBERS.get(tensor.node.type)
        if neutral is None:
            return
        number = tensor.function.number(tensor.node)
        slots = self.finder.call_graphs.flow.input_sources(tensor.instance, number)
        if len(slots) == 2 and self._is_constant(slots[1], neutral):
            yield from (same for source in slots[0] for same in self._unchanged(source))
        elif len(slots) == 2 and tensor.node.type in COMMUTATIVE and self._is_constant(slots[0], neutral):
            yield from (same for source in slots[1] for same in self._unchanged(source))

    def _is_constant(self, value_sources: list[ValueSource], number: float) -> bool:
        """Return whether all that an input may come from is a constant that holds nothing but a number."""
        tensors = [self.process.tensor(one.tensor) if one.argument < 0 else None for one in value_sources]
        numbers = [constant_of(one.node) if one is not None and one.node is not None else None for one in tensors]
        return bool(numbers) and all(one and set(one) == {number} for one in numbers)

    def _is_source(self, value_source: ValueSource, one: ObservedTensor) -> bool:
        if value_source.argument >= 0:
            return True
        if one.row is not None:
            return value_source.tensor == int(one.row["tensor"])
        tensor = self.process.tensor(value_source.tensor)
        return tensor is not None and tensor.node is one.tensor.node

    def is_hidden(self, slot: int) -> bool:
        """Return whether all that was recorded of an input is what it was computed from."""
        return self.input(slot) is None and slot < len(self.slots) and bool(self.slots[slot])

    def negation(self, slot: int = 0) -> OpNode | None:
        """Return the minus that an input of the op comes from, if there is one."""
        made = self.neighbours.input_ops(self.op_node) if self.op_node is not None else []
        return next((one for one in (made[slot] if slot < len(made) else []) if one.type == "Neg"), None)

    def input_range(self, slot: int = 0) -> tuple[float, float] | None:
        """Return the range of what the op took; that of a fused op without a row is computed from its own inputs."""
        x = self.input(slot)
        if x is not None:
            return (x.min, x.max) if x.has_range else None
        made = self.neighbours.input_ops(self.op_node) if self.op_node is not None else []
        return range_of(self.neighbours, made[slot][0]) if slot < len(made) and len(made[slot]) == 1 else None

    @property
    def inputs(self) -> list[ObservedTensor]:
        return [one for slot in self.slots for one in slot]

    @property
    def own_inputs(self) -> list[ObservedTensor]:
        """Return the inputs that were recorded themselves: only their numbers are told as those of the inputs."""
        return [one for slot, some in enumerate(self.slots) for one in some if self._is_own_input(slot, one)]

    @property
    def largest_input(self) -> ObservedTensor | None:
        known = [one for one in self.inputs if one.has_range and one.row is not None and one.max_abs == one.max_abs]
        return max(known, key=lambda one: one.max_abs, default=None)

    @property
    def code(self) -> str:
        """Return the user's line."""
        frame = self.site.frame if self.site is not None else None
        lines = self.process.catalogue.sources.get(frame.file, "").splitlines() if frame is not None else []
        return lines[frame.line - 1] if frame is not None and 0 < frame.line <= len(lines) else ""

    # ---- gradients

    @property
    def _forward(self) -> ForwardOp | None:
        node = self.op_node.graph_node if self.op_node is not None else None
        return node.forward if node is not None else None

    @property
    def differentiates(self) -> str | None:
        """Return the type of the op that this one is the gradient of."""
        if self._forward is not None:
            return self._forward.type
        eager = self.out.tensor.eager
        forward = self.process.catalogue.eager.get(eager.forward) if eager is not None else None
        return forward.type if forward is not None else None

    def differentiates_the_same(self, one: ObservedTensor) -> bool:
        """Return whether another tensor is of the gradient of the same op as this one."""
        eager, own = one.tensor.eager, self.out.tensor.eager
        if eager is not None or own is not None:
            return eager is not None and own is not None and 0 < eager.forward == own.forward
        return one.tensor.node is not None and one.tensor.node.forward == self._forward is not None

    @cached_property
    def forward_node(self) -> OpNode | None:
        """Return the op that this one differentiates, if it was recorded; else the op itself."""
        forward = self._forward
        if forward is None:
            eager = self.out.tensor.eager
            return (self._eager_forward_node(eager.forward) if eager is not None else None) or self.op_node
        for instance in reversed(self.process.catalogue.instances.values()):
            function = self.process.catalogue.functions.get(instance.function)
            if function is not None and function.graph == forward.graph:
                for number, node in enumerate(function.nodes):
                    if node.name == forward.name:
                        return OpNode(node.type, instance, function, number, call=self.out.call)
        return self.op_node

    def _eager_forward_node(self, forward: int) -> OpNode | None:
        """Return the last call of an eager op before this one, if possible of those that share a tensor with it."""
        process, graphs = self.process, self.finder.call_graphs
        rows = process.calls[(process.calls["op"] == forward) & (process.calls["call"] < self.out.call)]
        taken = {*graphs.calls.inputs(self.out.call)}
        found: list[OpNode] = []
        for call in map(int, rows["call"][::-1][:MAX_FORWARD_CALLS]) if forward > 0 else ():
            op = graphs.calls.op(call)
            uids = tuple(uid for made in graphs.of_call(call).returned_uids.values() for uid in made)
            found += [OpNode(op.type, uids=uids, call=call)] if op is not None else []
            if not taken.isdisjoint([*uids, *graphs.calls.inputs(call)]):
                return found[-1] if found else None
        return found[0] if found else None

    @property
    def name(self) -> str:
        """Return the name of the op, or of the one that it differentiates."""
        return self._forward.name if self._forward is not None else self.node_name

    @property
    def layer(self) -> str | None:
        """Return the layer of the op, or of the one that it differentiates; or the metric that it made bad."""
        eager = self.out.tensor.eager
        node = self.op_node.graph_node if self.op_node is not None else None
        if self.op_node is not None and self.op_node.function is not None and node is not None:
            instance, layers = self.op_node.instance, LayerLookup(self.process.catalogue)
            found = layers.of_node(self.op_node.function, node)
            return found or (layers.enclosing_layer(instance) if instance is not None else None) or self._metric
        scoped = eager is not None and (eager.forward > 0 or "/" in eager.scope + eager.type)
        return (LayerLookup(self.process.catalogue).of_eager(eager) if eager and scoped else None) or self._metric

    @property
    def _metric(self) -> str | None:
        """Return the metric, if the value was written to its variables and nowhere else."""
        known = self.process.catalogue.variables
        written = {known.get(handle, ("", "")) for handle in self.spread.variables}
        names = {name.rpartition("/")[0] for name, role in written}
        return f"metric {names.pop()}" if {role for _, role in written} == {"metric"} and len(names) == 1 else None

    @property
    def site(self) -> Site | None:
        """Return the user's line of the op; for a gradient, of the op that it differentiates."""
        sites = self.process.catalogue.sites
        if self.variable_write is not None:
            return self.variable_write.site
        if self._forward is not None:
            return sites.get(self._forward.site, self.out.tensor.site)
        eager = self.out.tensor.eager
        if self._site_in_function is not None:
            return self._site_in_function
        if eager is not None and eager.forward > 0 and eager.forward in self.process.catalogue.eager:
            return sites.get(self.process.catalogue.eager[eager.forward].site, self.out.tensor.site)
        node = self.op_node.graph_node if self.op_node is not None else None
        return sites.get(node.site) if node is not None else self.out.tensor.site

    @property
    def calling_line(self) -> Frame | None:
        """Return the line that called the function that the op is in: all there is of a loaded one."""
        op = self.finder.call_graphs.calls.op(self.out.call) if self.out.call >= 0 else None
        site = self.process.catalogue.sites.get(op.site) if op is not None else None
        return site.frame if site is not None and op is not None and op.instance >= 0 else None

    @property
    def _site_in_function(self) -> Site | None:
        """Return the node of a result that was recorded only when its function returned."""
        eager = self.out.tensor.eager
        instance = self.process.catalogue.instances.get(eager.instance) if eager is not None else None
        if instance is None or not self.out.has_health:
            return None
        sources = self.finder.call_graphs.flow.output_sources(instance, self.out.tensor.output)
        tensor = self.process.tensor(sources[0].tensor) if sources else None
        return tensor.site if tensor is not None else None

    # ---- around

    def before(self, *types: str, depth: int = 6) -> str | None:
        """Return the nearest op of these types that this op's inputs were computed by."""
        found = self.node_before(*types, depth=depth)
        return found.type if found is not None else None

    def node_before(self, *types: str, depth: int = 6) -> OpNode | None:
        start = self.forward_node
        if start is None:
            return None
        return next((one for one in self.neighbours.ancestors(start, depth) if one.type in types), None)

    def leads_to(self, *path: str) -> bool:
        """Return whether a consumer of this op (or of its forward op) has the first type, that one's the second, …"""
        level = {self.forward_node} if self.forward_node is not None else set()
        for kinds in path:
            level = {user for one in level for user in self._users(one) if user.type in kinds.split("|")}
        return bool(level)

    def reaches(self, kinds: frozenset[str]) -> bool:
        """Return whether it gets there through any arithmetic in between; what a dropout selects does not count."""
        return next(self.reached(kinds), None) is not None

    def reached(self, kinds: frozenset[str], depth: int = 5) -> Iterator[OpNode]:
        """Yield the ops of these types that it gets to."""
        level = {self.forward_node} if self.forward_node is not None else set()
        for _ in range(depth):
            users = {user for one in level for user in self._users(one)}
            yield from (user for user in users if user.type in kinds and not self._selects_at_random(user))
            level = {user for user in users if user.type in ELEMENTWISE}

    def _selects_at_random(self, op_node: OpNode) -> bool:
        """Return whether its condition was computed from random numbers; in eager code, whether its line makes some."""
        if op_node.function is None:  # the booleans of eager code have no rows
            op, eager = self.finder.call_graphs.calls.op(op_node.call), self.process.catalogue.eager.values()
            return op is not None and any("Random" in one.type and one.site == op.site for one in eager)
        condition = self.neighbours.input_ops(op_node)[:1] if op_node.type in SELECTS else []
        made = (spot for slot in condition for one in slot for spot in (one, *self.neighbours.ancestors(one, 4)))
        return any("Random" in spot.type for spot in made)

    def _users(self, op_node: OpNode) -> Iterator[OpNode]:
        """Return the consumers in the forward pass: gradients have branches of their own."""
        return (user for user in self.neighbours.consumers(op_node) if not user.is_gradient)

    # ---- growth

    @property
    def has_large_inputs(self) -> bool:
        """Return whether the inputs were too large already, so that the op is not to blame."""
        largest = self.largest_input
        return largest is not None and largest.max_abs > (LARGE_HALF_INPUT if self.out.is_half else LARGE_INPUT)

    @cached_property
    def grew_in_loop(self) -> ValueGrowth | None:
        seen = (over_iterations(one) for one in self.inputs if one.row is not None)
        return next((growth for growth in seen if growth is not None), None)

    @cached_property
    def grew_over_steps(self) -> ValueGrowth | None:
        largest = self.largest_input
        grown = over_steps(largest) if largest is not None else None
        return grown or over_steps(self.out)  # a variable that an op reads by itself has no rows of its own


def negation_words(case: Case, slot: int = 0) -> str:
    """Say that a minus made the input negative, if nothing else did: all that it negates was positive."""
    minus, seen = case.negation(slot), case.input_range(slot)
    if minus is None or seen is None or seen[1] > 0:
        return ""
    site = case.neighbours.site(minus)
    here = case.site.frame if case.site is not None else None
    line = f" in line {site.frame.line}" if site is not None and site.frame not in (None, here) and site.frame else ""
    return f", and the minus sign{line} made them so: without it they are {-seen[1]:.4g} … {-seen[0]:.4g}"
