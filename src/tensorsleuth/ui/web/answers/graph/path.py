"""The ops on the path of a finding, from origin to symptom."""

from __future__ import annotations

from tensorsleuth.core.finding import Finding
from tensorsleuth.trace.query.ops import Op
from tensorsleuth.ui.web.run.tensor_table import TensorTable

ROLES = ("origin", "symptom", "path")  # a node for several ops gets the first of these that applies


def roles(tensor_table: TensorTable, finding: Finding | None) -> dict[Op, str]:
    """Return the role of each op in a finding."""
    if finding is None or finding.process is None:
        return {}
    numbers = finding.path or ((finding.tensor,) if finding.tensor is not None else ())
    places = [int(tensor_table.starts[finding.process]) + number for number in numbers]
    ops = [tensor_table.op_of(place) for place in places if 0 <= place < len(tensor_table)]
    found = dict.fromkeys(ops, "path")
    if len(ops) > 1:
        found[ops[-1]] = "symptom"
    if ops:
        found[ops[0]] = "origin"
    return found
