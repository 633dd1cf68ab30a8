"""The variables that a program writes, from its functions and eager calls, without a pass over single calls."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property

import numpy as np

from tensorsleuth.core.catalog import Frame, Function
from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.core.ops.kinds import writes_variables
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.trace.dataflow.unseen_writes import UnseenWrites

INITIALISER = "initialize_variables"  # TensorFlow's function for variables that a traced function made


class WrittenVariables:
    """The written variables, by the uids of their handles."""

    def __init__(self, training_graph: TrainingGraph) -> None:
        self._training = training_graph
        self._catalogue = training_graph.process.catalogue

    @cached_property
    def by_functions(self) -> dict[int, list[OpNode]]:
        """Return the variables that functions write after creation, and the ops that do."""
        found: dict[int, list[OpNode]] = defaultdict(list)
        for root, writers in self._training.variables.writers.items():
            function = self._catalogue.functions[self._catalogue.instances[root].function]
            for writer in writers if INITIALISER not in function.name else ():
                uid = function.captures.get(writer.argument, {}).get("uid")
                inner = self._catalogue.functions[writer.instance.function]
                if uid is not None:
                    found[int(uid)].append(OpNode(writer.node.type, writer.instance, inner, writer.number))
        return found

    @cached_property
    def by_compiled(self) -> set[int]:
        """Return the variables written by functions whose inside was not recorded: compiled ones."""
        unseen, running = UnseenWrites(self._catalogue), {op.type for op in self._catalogue.eager.values()}
        functions = [one for one in self._catalogue.functions.values() if one.name in running]
        return {uid for one in functions for uid in _captured(one, unseen.written_by(one.name))} - self._initialised

    @cached_property
    def _initialised(self) -> set[int]:
        made = (one for one in self._catalogue.functions.values() if INITIALISER in one.name)
        return {uid for one in made for uid in _captured(one, frozenset(one.captures))}

    @cached_property
    def by_eager_calls(self) -> dict[int, list[int]]:
        """Return the eager calls that wrote each, the initial value included."""
        calls = self._training.process.calls
        ops = [op.id for op in self._catalogue.eager.values() if writes_variables(op.type)]
        rows = calls[(calls["kind"] == CallKind.OP) & np.isin(calls["op"], ops)]
        found: dict[int, list[int]] = defaultdict(list)
        for handle, call in zip(rows["inputs"][:, 0].tolist(), rows["call"].tolist(), strict=True):
            found[handle].append(call)
        return found

    def is_never_rewritten(self, handle: int) -> bool:
        """Return whether it was given its first value, and nothing was ever written to it again."""
        if handle in self.by_functions or handle in self.by_compiled:
            return False
        return len(self.by_eager_calls.get(handle, [])) + (handle in self._initialised) == 1

    def is_only_initialised(self, handle: int) -> bool:
        """Return whether only one run of a session ever wrote it, its initializer; restored values are a second one."""
        spots = self.by_functions.get(handle, [])
        roots = {self._training.root_id(spot) for spot in spots}
        runs = sum(self._training.call_count(root) for root in roots)
        return len(spots) == 1 and not roots & self._training.roots.keys() and runs == 1

    def stays_at_random(self, handle: int) -> bool:
        """Return whether it still has its random initial value."""
        return self.is_never_rewritten(handle) and self.starts_at_random(handle)

    def starts_at_random(self, handle: int) -> bool:
        """Return whether its initial value is random: pretrained values are loaded, and may be frozen on purpose."""
        before = (one.type for spot in self._first_writes(handle) for one in self._training.neighbours.ancestors(spot))
        return any("Random" in kind or "TruncatedNormal" in kind for kind in before)

    def _first_writes(self, handle: int) -> list[OpNode]:
        """Return the op that wrote its initial value."""
        calls = self.by_eager_calls.get(handle, [])
        if calls:
            return [OpNode("AssignVariableOp", call=calls[0])]
        found = []
        for root, writers in self._training.variables.writers.items():
            function = self._catalogue.functions[self._catalogue.instances[root].function]
            for writer in writers:
                if function.captures.get(writer.argument, {}).get("uid") == handle:
                    inner = self._catalogue.functions[writer.instance.function]
                    found.append(OpNode(writer.node.type, writer.instance, inner, writer.number))
        return found

    def update_line(self, op_node: OpNode) -> Frame | None:
        """Return the user's line of an op that writes."""
        site = self._training.neighbours.site(op_node)
        return site.frame if site is not None else None


def _captured(function: Function, arguments: frozenset[int]) -> set[int]:
    uids = (function.captures.get(at, {}).get("uid") for at in arguments)
    return {int(uid) for uid in uids if uid is not None}
