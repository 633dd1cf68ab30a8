"""The tensors that an op or a check refused for their shapes, with what they were computed from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

VARIABLE = "Variable"  # the op of a node that is a variable
FEEDING = "feed"  # the op of a refusal of a session: the placeholder and the array
CAPTURED = "Captured"  # of one that stands for a tensor outside of its function

Sizes = tuple[int | None, ...]


@dataclass(frozen=True)
class RefusedTensor:
    """A tensor on the way to what was refused."""

    shape: Sizes  # None for a size that was not known
    op: str  # that computed it; empty outside of graphs
    name: str
    site: int
    uid: int  # of an eager tensor, or of the handle of a variable; 0 if there is none
    inputs: tuple[int, ...]  # places among the nodes
    dtype: str = ""


@dataclass(frozen=True)
class Refusal:
    """The refused tensors, and the place of the op."""

    op: str
    site: int
    operands: tuple[int, ...]
    nodes: tuple[RefusedTensor, ...]

    @classmethod
    def from_json(cls, fields: Any) -> Refusal | None:
        """Read it from a trace, which may be damaged."""
        if not isinstance(fields, dict):
            return None
        try:
            nodes = tuple(_tensor(one) for one in fields["nodes"])
            operands = tuple(int(number) for number in fields["operands"])
            numbers = (*operands, *(number for node in nodes for number in node.inputs))
            if not all(0 <= number < len(nodes) for number in numbers):
                return None
            return cls(str(fields["op"]), int(fields["site"]), operands, nodes)
        except (LookupError, TypeError, ValueError, OverflowError):
            return None


def _tensor(fields: Any) -> RefusedTensor:
    shape = tuple(None if size is None else int(size) for size in fields["shape"])
    inputs = tuple(int(number) for number in fields["inputs"])
    named = str(fields["op"]), str(fields["name"]), int(fields["site"]), int(fields["uid"])
    return RefusedTensor(shape, *named, inputs, str(fields.get("dtype", "")))
