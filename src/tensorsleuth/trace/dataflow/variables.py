"""The writes of a program's variables, and their names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from tensorsleuth.core.catalog import EagerOp, Frame, Instance, Node, Site
from tensorsleuth.core.layout.rows import NO_UID
from tensorsleuth.core.ops.kinds import BRANCHES, CALLS, writes_variables
from tensorsleuth.trace.dataflow.call_graph import CallGraph, CallGraphs, Slots
from tensorsleuth.trace.dataflow.observed_tensor import Key, ObservedTensor
from tensorsleuth.trace.dataflow.unseen_writes import UnseenWrites
from tensorsleuth.trace.process.creations import Creations

_BUILDING_METHODS = ("__init__", "build")  # of layers that the program wrote: they name their own variables
ASSIGNMENT = re.compile(r"^\s*(?:self\.)?(\w+)(?:\s*:[^=]+)?\s*=[^=]")


@dataclass(frozen=True)
class VariableWrite:
    """A write of a variable, by an eager op or by a node of a function."""

    call: int
    op: str
    handle: int  # uid of the variable
    site: Site | None
    slots: Slots
    instance: Instance | None = None
    node: Node | None = None

    @property
    def values(self) -> list[ObservedTensor]:
        """Return the inputs of a write, without the variable itself."""
        return [one for slot in self.slots[1:] for one in slot]


@dataclass(frozen=True)
class _WriterNode:
    """A node that writes a variable, which its function has as an argument."""

    instance: Instance
    number: int
    node: Node
    argument: int


class VariableIndex:
    """The variables of a process, by the uids of their handles."""

    def __init__(self, call_graphs: CallGraphs) -> None:
        self._call_graphs = call_graphs
        self._catalogue = call_graphs.process.catalogue
        self._bad_writes: dict[int, dict[Key, list[int]]] = {}

    @cached_property
    def _unseen(self) -> UnseenWrites:
        return UnseenWrites(self._catalogue)

    @cached_property
    def writers(self) -> dict[int, list[_WriterNode]]:
        """Return the nodes that write variables, by the instance that Python calls."""
        found: dict[int, list[_WriterNode]] = defaultdict(list)
        for instance, function in self._catalogue.called_functions():
            for number, node in enumerate(function.nodes):
                for at in self._written_at(instance, number, node):
                    sources = self._call_graphs.flow.input_sources(instance, number)[at]
                    root = self._root(instance)
                    found[root.id] += [_WriterNode(instance, number, node, one.argument) for one in sources]
        return found

    def _written_at(self, instance: Instance, number: int, node: Node) -> list[int]:
        """Return the inputs of a node that are variables written by it, or by a function without recorded inside."""
        if writes_variables(node.type):
            return [0]
        if node.type not in CALLS or self._call_graphs.flow.has_callees(instance, number):
            return []
        return [at for at in self._unseen.written_at(node) if at < len(node.inputs)]

    def bad_writes(self, call: int) -> dict[Key, list[int]]:
        """Return the bad writes of a call: for each tensor the variables it was written to, also through fused ops."""
        known = self._bad_writes.get(call)
        if known is None:
            known = defaultdict(list)
            for write in self.writes(call, suspects=True):
                for value in write.values:
                    for one in self._each_iteration(call, value):
                        if one.bad:
                            known[one.key].append(write.handle)
            self._bad_writes[call] = known
        return known

    def _each_iteration(self, call: int, value: ObservedTensor) -> list[ObservedTensor]:
        """Return a value that is written in a loop, once for each iteration."""
        if value.row is None or value.call != call or value.tensor.eager is not None:
            return [value]
        return self._call_graphs.of_call(call).observations(int(value.row["tensor"]))

    def last_write(self, handle: int, before: int) -> VariableWrite | None:
        """Return the last write of a variable before a call."""
        calls = [call for call in self._call_graphs.calls.consumers(handle) if call < before]
        for call in reversed(calls):
            write = next(self.writes(call, handle), None)
            if write is not None:
                return write
        return None

    def writes_of(self, handle: int) -> Iterator[VariableWrite]:
        """Return all writes of a variable, oldest first."""
        for call in self._call_graphs.calls.consumers(handle):
            yield from self.writes(call, handle)

    def writes(self, call: int, handle: int | None = None, suspects: bool = False) -> Iterator[VariableWrite]:
        """Yield the writes of a call to one variable, or to any. With `suspects`, yield only those that may be bad."""
        op = self._call_graphs.calls.op(call)
        if op is None:
            return
        uids = self._call_graphs.calls.inputs(call)
        moment = self._call_graphs.of_call(call)
        if op.instance < 0 and writes_variables(op.type) and uids and handle in (None, uids[0]):
            found = (self._call_graphs.by_uid(uid) for uid in uids)
            slots = [[one] if one is not None else [] for one in found]
            yield VariableWrite(call, op.type, uids[0], self._catalogue.sites.get(op.site), slots)
        if op.instance < 0 and self._catalogue.functions:
            yield from self._unseen_writes(call, op, uids, handle)
        for writer in self.writers.get(op.instance, []):
            if (suspects and self._is_healthy(writer, moment)) or not self.did_run(writer.instance, moment):
                continue
            target = uids[writer.argument] if 0 <= writer.argument < len(uids) else NO_UID
            if handle in (None, target):
                slots = moment.node_inputs(writer.instance, writer.number, None)
                site = self._catalogue.sites.get(writer.node.site)
                yield VariableWrite(call, writer.node.type, target, site, slots, writer.instance, writer.node)

    def _is_healthy(self, writer_node: _WriterNode, call_graph: CallGraph) -> bool:
        """Return whether all values that the node may have written were recorded and healthy, as nearly always."""
        values = self._call_graphs.flow.input_sources(writer_node.instance, writer_node.number)[1:]
        return all(source.tensor in call_graph.healthy_tensors for slot in values for source in slot)

    def _unseen_writes(self, call: int, op: EagerOp, uids: list[int], handle: int | None) -> Iterator[VariableWrite]:
        """Yield the writes of a function whose inside was not recorded."""
        for argument in self._unseen.written_by(op.type):
            target = uids[argument] if argument < len(uids) else NO_UID
            if handle in (None, target):
                found = (self._call_graphs.by_uid(uid) for uid in uids)
                yield VariableWrite(
                    call, op.type, target, self._catalogue.sites.get(op.site), [[one] for one in found if one]
                )

    def did_run(self, instance: Instance, call_graph: CallGraph) -> bool:
        """Return whether an instance ran. A branch ran if any of its tensors was computed."""
        while instance.parent >= 0:
            parent = self._catalogue.instances[instance.parent]
            if self._catalogue.functions[parent.function].nodes[instance.node].type in BRANCHES:
                size = self._catalogue.functions[instance.function].tensors
                rows = call_graph.rows["tensor"]
                return bool(((rows >= instance.first_tensor) & (rows < instance.first_tensor + size)).any())
            instance = parent
        return True

    def handle_of(self, observed_tensor: ObservedTensor) -> int | None:
        """Return the handle of the variable that a tensor was read from."""
        tensor = observed_tensor.tensor
        if observed_tensor.call < 0:
            return None
        uids = self._call_graphs.calls.inputs(observed_tensor.call)
        if tensor.eager is not None:
            return uids[0] if uids else None
        if tensor.instance is None or tensor.function is None or tensor.node is None:
            return None
        slots = self._call_graphs.flow.input_sources(tensor.instance, tensor.function.number(tensor.node))
        arguments = [source.argument for source in slots[0]] if slots else []
        return next((uids[at] for at in arguments if 0 <= at < len(uids)), None)

    @cached_property
    def names(self) -> dict[int, str]:
        """Return the variables' names, from functions that capture them and from Keras."""
        keras = {uid: name for uid, (name, _) in self._catalogue.variables.items()}
        left_out = {uid: name for one in self._catalogue.unused_tape_variables for uid, name in one.names.items()}
        left_out |= {uid: one.name for uid, one in self._catalogue.missing_gradients.items()}
        return (
            left_out
            | {
                int(captured["uid"]): str(captured["variable"]).removesuffix(":0")
                for function in self._catalogue.functions.values()
                for captured in function.captures.values()
                if captured.get("variable") and captured.get("uid") is not None
            }
            | keras
        )

    @cached_property
    def untrainable(self) -> set[int]:
        """Return the variables that are known not to be trained: counters, metrics, learning rates."""
        captures = [captured for f in self._catalogue.functions.values() for captured in f.captures.values()]
        return {int(one["uid"]) for one in captures if one.get("trainable") is False and one.get("uid") is not None}

    def creation_line(self, handle: int) -> Frame | None:
        """The line that made a variable; the line that made its layer or optimizer, unless that is the program's."""
        made = self._call_graphs.by_uid(handle)
        frame = made.tensor.site.frame if made is not None and made.tensor.site is not None else None
        if frame is not None and frame.function in _BUILDING_METHODS:
            return frame
        return self._line_of_owner(handle) or frame

    def _line_of_owner(self, handle: int) -> Frame | None:
        """The line that made the layer or the optimizer that a variable belongs to."""
        creations, path = self._call_graphs.process.cached(Creations), self.names.get(handle, "").rpartition("/")[0]
        owner = creations.of_path(path) if path else None
        is_optimizers = self._catalogue.variables.get(handle, ("", ""))[1] == "optimizer"
        owner = creations.only("optimizer") if owner is None and is_optimizers else owner
        return replace(owner.frame, layer=path if owner.kind == "layer" else None) if owner is not None else None

    def name(self, handle: int) -> str:
        """Return a variable's name, or the name that it has on the user's line."""
        known = self.names.get(handle)
        if known and known != "Variable":
            return known
        frame = self.creation_line(handle)
        text = self._catalogue.sources.get(frame.file, "") if frame is not None else ""
        lines = text.splitlines()
        line = lines[frame.line - 1] if frame is not None and frame.line <= len(lines) else ""
        found = ASSIGNMENT.match(line)
        return found.group(1) if found else known or "a variable"

    def find_by_name(self, name: str) -> Iterator[int]:
        """Return the variables whose name ends with this text."""
        yield from (handle for handle, known in self.names.items() if known.split("/")[-1].startswith(name))

    def _root(self, instance: Instance) -> Instance:
        for _ in range(100):
            if instance.parent < 0 or instance.parent not in self._catalogue.instances:
                break
            instance = self._catalogue.instances[instance.parent]
        return instance
