"""What the guard looks at: whether anything is bad, and in full what may turn out to be the reason."""

from __future__ import annotations

from dataclasses import dataclass

from tensorsleuth.capture.definition import Definition
from tensorsleuth.capture.instrument import LookInGraph, Selection
from tensorsleuth.capture.settings import Settings
from tensorsleuth.model import ops
from tensorsleuth.model.dtypes import DTYPES, Kind
from tensorsleuth.model.modes import Mode

_FLOATS = (Kind.FLOAT, Kind.COMPLEX)


@dataclass(frozen=True)
class GuardSelection(Selection):
    """The guard's own looks, and those of a recording that is under way with it: the closer of both."""

    recording: Selection | None = None
    strict: bool = False

    def look(self, op: str, dtype: int) -> Mode | None:
        own = Mode.CURT_HEALTH if _is_float(dtype) else None
        return _closer(own, self.recording.look(op, dtype) if self.recording else None)

    def in_function(self, definition: Definition) -> LookInGraph:
        """What cannot make a bad value is looked at too: it may hide one, or be what a variable gets."""
        asked_about = _asked_about(definition)
        recorded = self.recording.in_function(definition) if self.recording else None

        def look(op: str, dtype: int, name: str) -> Mode | None:
            own = self._look(op, dtype, name, name in asked_about)
            return _closer(own, recorded(op, dtype, name) if recorded else None)

        return look

    def _look(self, op: str, dtype: int, name: str, closely: bool) -> Mode | None:
        if not _is_float(dtype) or op in _NEVER:
            return None
        if self.strict and (op in _NOT_BORN or (op in ops.STATISTICS and ":y:" not in name)):
            return None  # a probe would stop the program
        return Mode.FULL_HEALTH if closely else Mode.CURT_HEALTH


_NEVER = ops.STATIC | ops.CONTROL_FLOW | ops.VIEWS
_NOT_BORN = ops.HARMLESS | ops.LITERALS  # what is bad in their outputs was so before


def guard_settings(probe: str) -> Settings:
    """How the guard records by itself, into memory."""
    return Settings("", Mode.CURT_HEALTH, None, None, None, probe)


def _asked_about(definition: Definition) -> set[str]:
    """Names of the tensors that go into ops which can fail, seen through views."""
    nodes = {node.name: node for node in definition.proto.node_def}
    names: set[str] = set()
    for node in definition.proto.node_def:
        if node.op in ops.CAN_FAIL:
            names.update(_behind_views(nodes, name) for name in node.input if not name.startswith("^"))
    return names


def _behind_views(nodes: dict[str, object], name: str) -> str:
    for _ in range(len(nodes)):
        node = nodes.get(name.split(":")[0])
        if node is None or node.op not in ops.VIEWS or node.op == "IdentityN":  # type: ignore[attr-defined]
            break
        name = node.input[0]  # type: ignore[attr-defined]
    return name


def _is_float(dtype: int) -> bool:
    return dtype in DTYPES and DTYPES[dtype].kind in _FLOATS


def _closer(one: Mode | None, other: Mode | None) -> Mode | None:
    looks = [look for look in (one, other) if look is not None]
    return max(looks, default=None)
