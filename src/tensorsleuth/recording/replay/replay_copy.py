"""Makes the copy that replays a call: uncompiled, with the same random numbers, without outside effects."""

from __future__ import annotations

from typing import Any

from tensorsleuth.core.ops import kinds as ops
from tensorsleuth.recording.functions.function_copy import CallPosition, FunctionCopier, WatchedCopy
from tensorsleuth.recording.functions.function_def import Definition, is_compiled
from tensorsleuth.recording.functions.function_library import CataloguedFunction
from tensorsleuth.recording.functions.probes import redirect, used_tensors
from tensorsleuth.recording.functions.side_effects import ReplayPolicy, put_out_kept, replay_policy, skip_node
from tensorsleuth.recording.replay.uncompiled import ALONE_PREFIX, compile_alone, differs_in_xla, uncompile

LOWER_ATTRIBUTE = "_lower_using_switch_merge"


class ReplayCopier(FunctionCopier):
    """Makes a replay copy, in which compiled functions run op by op."""

    def refuses(self, name: str, catalogued_function: CataloguedFunction, call_position: CallPosition) -> bool:
        return self.exceeds_limits(name, call_position)

    def prepare(self, definition: Definition, copy: Any, call_position: CallPosition) -> dict[str, str]:
        if not (call_position.compiled or is_compiled(copy.attr)):
            return self.replace_side_effects(definition, copy, call_position)
        uncompile(copy.attr)
        for node in copy.node_def:
            if differs_in_xla(node.op):
                compile_alone(node)
            elif node.op in ops.CONTROL_FLOW:
                node.attr[
                    LOWER_ATTRIBUTE
                ].b = True  # otherwise the optimizer, and with it our probes, skips the functions that it calls
        return {}  # compiled code has no outside effects

    def replace_side_effects(self, definition: Definition, copy: Any, call_position: CallPosition) -> dict[str, str]:
        """Replace ops with outside effects by stand-ins. Return the outputs that got a new name."""
        used = used_tensors(copy)
        renamed: dict[str, str] = {}
        for number, node in enumerate(copy.node_def):
            outputs = list(definition.output_names(number))
            dtypes = tuple(dtype for _, dtype in outputs)
            fate = replay_policy(node, dtypes)
            if fate is ReplayPolicy.SKIP:
                skip_node(node)
            elif fate is ReplayPolicy.KEEP:
                needed = sum(1 << at for at, (name, _) in enumerate(outputs) if name in used)
                put_out_kept(node, dtypes, self.library.slot((*call_position.way, number), dtypes), needed)
                renamed |= {name: f"{node.name}:y:{at}" for at, (name, _) in enumerate(outputs)}
        redirect(copy, renamed)
        return renamed

    def inner(self, name: str, node: Any, graphs: dict[str, Any], call_position: CallPosition) -> WatchedCopy | None:
        if name.startswith(ALONE_PREFIX):
            return None
        compiled = is_compiled(node.attr)
        uncompile(node.attr)
        return self.copy(name, graphs.get(name), call_position.entering(name, compiled))
