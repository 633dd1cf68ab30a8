"""Makes the copy with which a call is run again: uncompiled, with the same random numbers, touching nothing outside."""

from __future__ import annotations

from typing import Any

from tensorsleuth.core.ops import kinds as ops
from tensorsleuth.recording.functions.function_copy import Copying, Spot, Watched
from tensorsleuth.recording.functions.function_def import Definition, is_compiled
from tensorsleuth.recording.functions.function_library import Known
from tensorsleuth.recording.functions.probes import redirect, used_tensors
from tensorsleuth.recording.functions.side_effects import Fate, fate_of, skip, stand_in
from tensorsleuth.recording.replay.uncompiled import ALONE, compile_alone, draws_otherwise, uncompile

LOWER = "_lower_using_switch_merge"


class Again(Copying):
    """A replay copy in which compiled functions run op by op."""

    def refuses(self, name: str, known: Known, spot: Spot) -> bool:
        return self.too_much(name, spot)

    def prepare(self, definition: Definition, copy: Any, spot: Spot) -> dict[str, str]:
        if not (spot.compiled or is_compiled(copy.attr)):
            return self.stand_in(definition, copy, spot)
        uncompile(copy.attr)
        for node in copy.node_def:
            if draws_otherwise(node.op):
                compile_alone(node)
            elif node.op in ops.CONTROL_FLOW:
                node.attr[LOWER].b = True  # or the optimiser, and so our probes, do not get into what it calls
        return {}  # nothing that is compiled can be outside

    def stand_in(self, definition: Definition, copy: Any, spot: Spot) -> dict[str, str]:
        """Leave alone what is outside; how outputs are called now."""
        used = used_tensors(copy)
        renamed: dict[str, str] = {}
        for number, node in enumerate(copy.node_def):
            outputs = list(definition.names(number))
            dtypes = tuple(dtype for _, dtype in outputs)
            fate = fate_of(node, dtypes)
            if fate is Fate.SKIP:
                skip(node)
            elif fate is Fate.KEEP:
                needed = sum(1 << at for at, (name, _) in enumerate(outputs) if name in used)
                stand_in(node, dtypes, self.library.slot((*spot.way, number), dtypes), needed)
                renamed |= {name: f"{node.name}:y:{at}" for at, (name, _) in enumerate(outputs)}
        redirect(copy, renamed)
        return renamed

    def inner(self, name: str, node: Any, graphs: dict[str, Any], spot: Spot) -> Watched | None:
        if name.startswith(ALONE):
            return None
        compiled = is_compiled(node.attr)
        uncompile(node.attr)
        return self.copy(name, graphs.get(name), spot.of(name, compiled))
