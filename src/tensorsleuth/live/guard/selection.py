"""Selects tensors for the guard. It only checks most for bad values, but summarizes possible clues to an origin."""

from __future__ import annotations

from dataclasses import dataclass

from tensorsleuth.core.dtypes import is_float
from tensorsleuth.core.modes import Mode
from tensorsleuth.core.ops import kinds as ops
from tensorsleuth.core.ops.elementwise import HIDING_OPS
from tensorsleuth.core.ops.numerics import DECISIVE_INPUTS
from tensorsleuth.recording.functions.function_def import Definition
from tensorsleuth.recording.functions.probes import GraphModes, Selection
from tensorsleuth.recording.settings import Settings


@dataclass(frozen=True)
class GuardSelection(Selection):
    """The guard's selection together with that of an active recording: the more detailed mode of both."""

    recording: Selection | None = None
    strict: bool = False

    @property
    def notes_op_ends(self) -> bool:
        return self.recording is not None and self.recording.notes_op_ends

    def mode_for(self, op: str, dtype: int) -> Mode | None:
        own = Mode.CURT_HEALTH if is_float(dtype) else None
        return _closer(own, self.recording.mode_for(op, dtype) if self.recording else None)

    def for_function(self, definition: Definition) -> GraphModes:
        """Select an op that never produces a bad value only if it may hide one, or if its output goes to a variable."""
        asked_about, written = _inputs_of_fragile_ops(definition), _written(definition)
        recorded = self.recording.for_function(definition) if self.recording else None

        def look(op: str, dtype: int, name: str) -> Mode | None:
            told_by_inputs = op in ops.KEEP_FINITE - HIDING_OPS and name not in written
            own = (
                self._look(op, dtype, name, name in asked_about) if name in asked_about or not told_by_inputs else None
            )
            return _closer(own, recorded(op, dtype, name) if recorded else None)

        return look

    def _look(self, op: str, dtype: int, name: str, closely: bool) -> Mode | None:
        if not is_float(dtype) or op in _NEVER_SELECTED:
            return None
        if self.strict and (op in _CANNOT_BE_ORIGIN or (op in ops.BATCH_NORMS and ":y:" not in name)):
            return None  # the op cannot be the origin, and its probe would stop the program
        return Mode.FULL_HEALTH if closely else Mode.CURT_HEALTH


_VIEWS = ops.VIEWS - {"IdentityN"}
_NEVER_SELECTED = ops.STATIC_VALUES | ops.CONTROL_FLOW | ops.VIEWS
_HALF_DTYPES = (14, 19)  # bfloat16 and float16: casts to them may overflow
_CANNOT_BE_ORIGIN = ops.KEEP_FINITE | ops.LITERALS  # a bad output of these ops has a bad source


def guard_settings(probe: str) -> Settings:
    """Return the settings of the guard's own recording in memory."""
    return Settings("", Mode.CURT_HEALTH, None, None, None, probe)


def _inputs_of_fragile_ops(definition: Definition) -> set[str]:
    """Return the names of the inputs of ops that can produce a bad value, with views resolved."""
    return {
        definition.resolve(name, _VIEWS)
        for node in definition.proto.node_def
        if node.op in ops.CAN_MAKE_BAD and (node.op != "Cast" or node.attr["DstT"].type in _HALF_DTYPES)
        for slot, name in enumerate(node.input)
        if slot in DECISIVE_INPUTS.get(node.op, (slot,)) and not name.startswith("^")
    }


def _written(definition: Definition) -> set[str]:
    """Return the names of the tensors that are written to variables, with views resolved."""
    writers = (node for node in definition.proto.node_def if ops.writes_variables(node.op))
    return {definition.resolve(name, _VIEWS) for node in writers for name in node.input if not name.startswith("^")}


def _closer(one: Mode | None, other: Mode | None) -> Mode | None:
    looks = [look for look in (one, other) if look is not None]
    return max(looks, default=None)
