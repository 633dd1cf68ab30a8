"""A clip whose result is thrown away: TensorFlow's clips return a new tensor and leave their input as it is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from tensorsleuth.core.catalog import EagerOp, Frame, Instance, Site
from tensorsleuth.core.finding import Basis
from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.core.ops.elementwise import CLIP_PARTS
from tensorsleuth.core.ops.kinds import writes_variables
from tensorsleuth.diagnose.graph.live_tensors import LiveTensors
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, merge_same_line
from tensorsleuth.diagnose.source_lines import code_at
from tensorsleuth.diagnose.training.sampled_calls import sampled_calls
from tensorsleuth.diagnose.training.unused.leads_to_write import leads_to_write
from tensorsleuth.trace.process.process import ProcessTrace

SAMPLED_CALLS = 5  # of each eager op


@dataclass(frozen=True)
class Clip:
    """The clips of one line of the program."""

    frame: Frame
    op_node: OpNode


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    found = (*_of_functions(process, training), *_of_eager_code(process, training))
    yield from merge_same_line(map(_finding, found))


RULE = Rule(id="clip-unused", severity=Severity.WRONG, find=find, basis=Basis.GRAPH)


# ---- in functions


def _of_functions(process: ProcessTrace, training_graph: TrainingGraph) -> Iterator[Clip]:
    for instance, function in training_graph.instances:
        lines: dict[Frame, list[int]] = defaultdict(list)
        for number, node in enumerate(function.nodes):
            frame = _line_of_clip(process, process.catalogue.sites.get(node.site)) if node.forward is None else None
            if frame is not None:
                lines[frame].append(number)
        for frame, numbers in lines.items():
            clips = [number for number in numbers if function.nodes[number].type in CLIP_PARTS]
            if clips and _is_thrown_away(process, training_graph, instance, numbers):
                yield Clip(frame, OpNode(function.nodes[clips[0]].type, instance, function, clips[0]))


def _is_thrown_away(
    process: ProcessTrace, training_graph: TrainingGraph, instance: Instance, numbers: list[int]
) -> bool:
    """Return whether nothing of a line matters to the function, not even a norm, and what goes into it does."""
    function = process.catalogue.functions[instance.function]
    live = process.cached(LiveTensors).of_root(training_graph.root_instance(instance).id)
    made = {instance.first_tensor + function.nodes[number].first_output for number in numbers}
    slots = (training_graph.call_graphs.flow.input_sources(instance, number) for number in numbers)
    taken = {one.tensor for slot in slots for sources in slot for one in sources} - made
    return not made & live and any(tensor in live and _is_computed(process, tensor) for tensor in taken)


def _is_computed(process: ProcessTrace, tensor: int) -> bool:
    described = process.tensor(tensor)
    return described is not None and described.node is not None and described.type != "Const"


# ---- in eager code


def _of_eager_code(process: ProcessTrace, training_graph: TrainingGraph) -> Iterator[Clip]:
    lines: dict[Frame, list[EagerOp]] = defaultdict(list)
    for op in process.catalogue.eager.values():
        frame = _line_of_clip(process, process.catalogue.sites.get(op.site))
        if frame is not None and op.forward <= 0:
            lines[frame].append(op)
    for frame, ops in lines.items():
        clips = any(op.type in CLIP_PARTS for op in ops)
        writes = any(op.instance >= 0 or writes_variables(op.type) for op in ops)
        if clips and not writes and _writes_unclipped(training_graph, ops):
            yield Clip(frame, OpNode(next(op.type for op in ops if op.type in CLIP_PARTS)))


def _writes_unclipped(training_graph: TrainingGraph, ops: list[EagerOp]) -> bool:
    """Return whether no other line takes the results of a line, while weights are written with its inputs."""
    index, graphs = training_graph.call_graphs.calls, training_graph.call_graphs
    own = {op.id for op in ops}
    calls = [call for op in own for call in sampled_calls(graphs.process, [op], CallKind.OP, SAMPLED_CALLS)]
    outputs = {uid for call in calls for uids in graphs.of_call(call).returned_uids.values() for uid in uids}
    users = [index.op(user) for uid in outputs for user in index.consumers(uid)]
    if any(user is None or user.id not in own for user in users):
        return False
    inputs = {uid for call in calls for uid in index.inputs(call)} - outputs
    gradients = [uid for uid in inputs if (one := graphs.by_uid(uid)) is not None and one.is_gradient]
    return any(leads_to_write(training_graph, uid) for uid in gradients)


# ---- either


def _line_of_clip(process: ProcessTrace, site: Site | None) -> Frame | None:
    """Return the user's line that asks for a clip; None inside of a library."""
    frame = site.frame if site is not None else None
    return frame if "clip_by_" in (code_at(process, frame) or "") else None


def _finding(clip: Clip) -> RuleFinding:
    why = (
        "clips gradients or values and throws the result away: a clip returns new tensors and leaves its input as it "
        "is, so "
        "the step goes on with what is not clipped"
    )
    return RuleFinding(confidence=0.93, why=why, fix=_USE, frame=clip.frame, op=clip.op_node.type)


_USE = (
    "use what the clip returns: clipped, _ = tf.clip_by_global_norm(gradients, 1.0), then "
    "optimizer.apply_gradients(zip(clipped, variables)); or give the optimizer global_clipnorm=1.0"
)
