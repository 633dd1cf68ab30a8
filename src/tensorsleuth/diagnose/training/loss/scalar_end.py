"""The way from a comparison [N, N] to one number: all of it is added up, at once or one axis after the other."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from tensorsleuth.core.ops.reductions import AVERAGING_OPS, LOSS_REDUCTIONS, REDUCTIONS
from tensorsleuth.core.ops.views import CHECKED_COPIES, LOSS_PASSES, SHAPE_ONLY_OPS
from tensorsleuth.diagnose.graph.constant_folding import fold_constants
from tensorsleuth.diagnose.graph.neighbours import Neighbours, OpNode
from tensorsleuth.trace.dataflow.call_graph import CallGraphs
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor

MAX_HOPS_TO_SCALAR = 10
# From the loss of each sample, a sum over one axis, to the sum of all. Anything else may be meant: the logarithm of a
# sum is a density.
SAMPLE_LOSS_PASSES = AVERAGING_OPS | CHECKED_COPIES | {"Neg"}
Level = dict[OpNode, int]  # what is computed from it, with the number of axes that are left


class ScalarEnd:
    """The reductions of one [N, N]."""

    def __init__(self, call_graphs: CallGraphs, start: OpNode, out: ObservedTensor) -> None:
        self._call_graphs, self._start, self._out = call_graphs, start, out
        self._neighbours = Neighbours(call_graphs)
        self._levels = list(self._walk())

    @property
    def is_reached(self) -> bool:
        for users in self._levels:
            if any(before == 2 and not self._may_be_loss(user) for user, before in users.items()):
                return False
            if any(self._is_one_number(user, before) for user, before in users.items()):
                return True
        return False

    def _is_one_number(self, user: OpNode, before: int) -> bool:
        reductions = REDUCTIONS if before == 2 else LOSS_REDUCTIONS
        return user.type in reductions and self._axes_left(user, before) == 0

    def _walk(self) -> Iterator[Level]:
        """Yield the ops that take it, level by level, with the number of axes of what they take."""
        level: Level = {self._start: 2}
        for _ in range(MAX_HOPS_TO_SCALAR):
            users = {user: axes for one, axes in level.items() for user in self._users(one)}
            yield users
            left = {user: self._axes_left(user, axes) for user, axes in users.items()}
            level = {user: axes for user, axes in left.items() if self._passes_on(user, users[user], axes)}

    def _users(self, op_node: OpNode) -> set[OpNode]:
        users = {user for user in self._neighbours.consumers(op_node) if not user.is_gradient}
        return {user for user in users if user.type not in SHAPE_ONLY_OPS and not self._is_backward(user)}

    def _is_backward(self, op_node: OpNode) -> bool:
        op = self._call_graphs.calls.op(op_node.call) if op_node.function is None else None
        return op is not None and op.forward > 0

    def _passes_on(self, user: OpNode, before: int, left: int) -> bool:
        """Return whether its output is still the losses of all pairs, or what they add up to for each sample."""
        if user.type in LOSS_REDUCTIONS:
            return left > 0
        return user.type in (LOSS_PASSES if before == 2 else SAMPLE_LOSS_PASSES)

    def _axes_left(self, user: OpNode, before: int) -> int:
        """Return how many axes its output has, without those of length one."""
        if user.type not in REDUCTIONS:
            return before
        shapes = [one.shape for one in self._neighbours.recorded_outputs(user) if one.shape is not None]
        return sum(size > 1 for size in shapes[0]) if shapes else self._unrecorded_axes(user, before)

    def _unrecorded_axes(self, user: OpNode, before: int) -> int:
        """Return how many axes are left of a loss that nothing returns: it is not computed, and has no row."""
        node = user.graph_node
        if node is None or user.function is None or node.attrs.get("keep_dims") or len(node.inputs) < 2:
            return before
        axes = fold_constants(user.function, node.inputs[1][0])
        return before - len({axis % before for axis in axes}) if axes is not None and before else before

    # ---- what is meant

    def _may_be_loss(self, user: OpNode) -> bool:
        return user.type in LOSS_PASSES | REDUCTIONS and not self._meets_a_square(user)

    def _meets_a_square(self, user: OpNode) -> bool:
        """Return whether it is combined with another [N, N], as intended pairs are."""
        sources = [one for slot in self._neighbours.input_ops(user) for one in slot if one not in self._own]
        seen = [one for source in sources for one in self._neighbours.recorded_outputs(source)]
        return any(one.shape == self._out.shape and one.key != self._out.key for one in seen)

    @cached_property
    def _own(self) -> set[OpNode]:
        return {self._start}.union(*self._levels)
