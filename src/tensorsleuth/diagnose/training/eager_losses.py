"""The losses that eager code differentiates by variables, op by op."""

from __future__ import annotations

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import EagerOp
from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.trace.dataflow.observed_tensor import uid_of
from tensorsleuth.trace.process.process import ProcessTrace


class EagerLosses:
    """The scalars that tapes of eager code were asked about. `process.cached(EagerLosses)` looks once."""

    def __init__(self, process: ProcessTrace) -> None:
        self.rows: dict[OpNode, Array] = {}  # oldest first; the node is that of the first
        self.ops: dict[OpNode, EagerOp] = {}
        for number in process.catalogue.losses:
            op = process.catalogue.eager.get(number)
            if op is None or op.instance >= 0:
                continue
            rows = _scalar_rows(process, op)
            if len(rows):
                node = OpNode(op.type, uids=(uid_of(rows[0]),), call=int(rows["step"][0]))
                self.rows[node], self.ops[node] = rows, op


def _scalar_rows(process: ProcessTrace, op: EagerOp) -> Array:
    first, end = op.tensor_bounds
    events = process.events
    rows = events[(events["tensor"] >= first) & (events["tensor"] < end)]
    scalars = [number for number, shape in enumerate(process.shapes) if number and shape == ()]
    found: Array = rows[(rows["flags"] & EventFlag.RANGED != 0) & np.isin(rows["shape"], scalars)]
    return found
