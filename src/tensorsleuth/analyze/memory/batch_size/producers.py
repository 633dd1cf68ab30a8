"""The op that made each input of an op, found through calls, loops and branches, but not through views."""

from __future__ import annotations

from tensorsleuth.core.catalog import Function, Instance, Node
from tensorsleuth.core.ops.kinds import BRANCHES, LOOPS
from tensorsleuth.trace.query.ops import Op
from tensorsleuth.trace.query.process_index import ProcessIndex

MAX_RESOLVE_STEPS = 10_000
EAGER = -1

# (instance, node, output). A negative node is argument -1 - node of a function that Python called. An eager tensor is
# (EAGER, number of its event, 0).
TensorKey = tuple[int, int, int]


class ProducerGraph:
    """The recorded graph and the eager ops of one process, followed from outputs to inputs."""

    def __init__(self, process_index: ProcessIndex) -> None:
        self._process_index = process_index
        self._catalogue = process_index.process.catalogue
        self._flow = process_index.call_graphs.flow
        self._calls = process_index.call_graphs.calls

    def function(self, tensor_key: TensorKey) -> Function:
        return self._catalogue.functions[self._catalogue.instances[tensor_key[0]].function]

    def node(self, tensor_key: TensorKey) -> Node | None:
        """Return the op in a function that has this key."""
        return self.function(tensor_key).nodes[tensor_key[1]] if tensor_key[0] != EAGER and tensor_key[1] >= 0 else None

    def tensor(self, tensor_key: TensorKey) -> int:
        """Return the tensor id of a key."""
        if tensor_key[0] == EAGER:
            return int(self._process_index.process.events["tensor"][tensor_key[1]])
        first = self._catalogue.instances[tensor_key[0]].first_tensor
        node = self.node(tensor_key)
        return first + node.first_output + tensor_key[2] if node is not None else first - 1 - tensor_key[1]

    def key_of_output(self, op: Op, tensor: int) -> TensorKey | None:
        """Return the key of an output of an op in a function."""
        instance = self._catalogue.instances.get(op.instance)
        return (
            self.resolve(instance, op.node, tensor - op.first_tensor) if instance is not None and op.node >= 0 else None
        )

    def key_of_eager(self, uid: int) -> TensorKey | None:
        """Return the key of an eager tensor. A result of a function has the key of its op inside the function."""
        place = self._calls.event_of(uid)
        if place is None:
            return None
        described = self._process_index.process.tensor(int(self._process_index.process.events["tensor"][place]))
        op = described.eager if described is not None else None
        inside = self._catalogue.instances.get(op.instance) if op is not None else None
        if inside is None or described is None:
            return EAGER, place, 0
        return self._returned(inside, described.output)

    def inputs(self, tensor_key: TensorKey) -> list[TensorKey | None]:
        """Return the inputs of the op that made it, in order."""
        if tensor_key[0] == EAGER:
            call = int(self._process_index.process.events["step"][tensor_key[1]])
            return [self.key_of_eager(uid) for uid in self._calls.inputs(call)]
        node = self.node(tensor_key)
        instance = self._catalogue.instances[tensor_key[0]]
        return [self.resolve(instance, *source) for source in node.inputs] if node is not None else []

    def _returned(self, instance: Instance, output: int) -> TensorKey | None:
        returns = self._catalogue.functions[instance.function].returns
        return self.resolve(instance, *returns[output]) if 0 <= output < len(returns) else None

    def resolve(self, instance: Instance, node: int, output: int) -> TensorKey | None:
        """Return the op behind an output of a node: inside a call, outside for an argument, at a loop's start."""
        for _ in range(MAX_RESOLVE_STEPS):
            described = self._catalogue.functions[instance.function]
            if node >= 0:
                called = self._flow.callees(instance, node)
                if not called:
                    return instance.id, node, output
                instance = called[-1] if described.nodes[node].type in LOOPS else called[0]
                returns = self._catalogue.functions[instance.function].returns
                if output >= len(returns):
                    return None
                node, output = returns[output]
            elif instance.parent < 0:
                return instance.id, node, 0
            else:
                parent = self._catalogue.instances[instance.parent]
                caller = self._catalogue.functions[parent.function].nodes[instance.node]
                passed = -1 - node + (caller.type in BRANCHES)
                if passed >= len(caller.inputs):
                    return None
                instance, (node, output) = parent, caller.inputs[passed]
        return None
