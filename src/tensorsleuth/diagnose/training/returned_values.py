"""Results that functions returned to Python: all that is known of compiled functions, in unsampled steps."""

from __future__ import annotations

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Instance
from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.diagnose.graph.neighbours import Spot
from tensorsleuth.diagnose.graph.training import Training, tensor_of


def returned_rows(training: Training, spot: Spot) -> Array:
    """The rows of an op's first output, as the function that Python calls returned it; none where it does not."""
    process, root = training.process, training.process.catalogue.instances.get(training.root_of(spot))
    outputs = _outputs(training, root, tensor_of(spot)) if root is not None else []
    if root is None or not outputs:
        return process.events[:0]
    name = process.catalogue.functions[root.function].name  # what XLA compiles is called as it is
    calls = [op for op in process.catalogue.eager.values() if op.instance == root.id or op.type == name]
    rows = process.events[np.isin(process.events["tensor"], [op.first + outputs[0] for op in calls])]
    ranged: Array = rows[rows["flags"] & EventFlag.RANGED != 0]
    return ranged


def _outputs(training: Training, root: Instance, tensor: int) -> list[int]:
    """Return the results of a function that are a tensor."""
    flow, returns = training.moments.flow, training.process.catalogue.functions[root.function].returns
    return [at for at in range(len(returns)) if any(one.tensor == tensor for one in flow.returned(root, at))]
