"""Results that functions returned to Python: all that is known of compiled functions, in unsampled steps."""

from __future__ import annotations

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Instance
from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph, tensor_id_of


def returned_rows(training_graph: TrainingGraph, op_node: OpNode) -> Array:
    """Return the rows of an op's first output if the function returns it to Python; else none."""
    process, root = (
        training_graph.process,
        training_graph.process.catalogue.instances.get(training_graph.root_id(op_node)),
    )
    outputs = _outputs(training_graph, root, tensor_id_of(op_node)) if root is not None else []
    if root is None or not outputs:
        return process.events[:0]
    name = process.catalogue.functions[root.function].name  # what XLA compiles is called as it is
    calls = [op for op in process.catalogue.eager.values() if op.instance == root.id or op.type == name]
    rows = process.events[np.isin(process.events["tensor"], [op.first_tensor + outputs[0] for op in calls])]
    ranged: Array = rows[rows["flags"] & EventFlag.RANGED != 0]
    return ranged


def _outputs(training_graph: TrainingGraph, root: Instance, tensor: int) -> list[int]:
    """Return the results of a function that are a tensor."""
    flow, returns = training_graph.call_graphs.flow, training_graph.process.catalogue.functions[root.function].returns
    return [at for at in range(len(returns)) if any(one.tensor == tensor for one in flow.output_sources(root, at))]
