"""Dropout that is active while a model is evaluated: `training=True` in a function that does not train."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tensorsleuth.core.catalog import Frame, Function, Instance
from tensorsleuth.core.dtypes import RESOURCE
from tensorsleuth.core.fit_position import Phase
from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.core.ops.elementwise import COMPARISONS, SCALINGS
from tensorsleuth.core.ops.kinds import CONTROL_FLOW_PASSES
from tensorsleuth.core.ops.masks import WEIGHTING_OPS
from tensorsleuth.core.ops.views import GENERATED_CONSTANTS
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.graph.value_range import range_of
from tensorsleuth.diagnose.health_words import pluralise
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.source_lines import code_at
from tensorsleuth.diagnose.training.loops import SESSION_PREFIX
from tensorsleuth.trace.dataflow.observed_tensor import Row
from tensorsleuth.trace.process.process import ProcessTrace

FEWEST_CALLS = 2
MIN_REPEATED_CALLS = 3  # of one and the same input: who draws again and again wants the spread
MAX_SCALES = 3  # products with 1 / (1 - rate) before the mask
RANDOM_OP = "RandomUniform"
MODEL_CALL_NAMES = ("call", "__call__")  # a model's own


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    if not training.roots:
        return
    trained = {uid for root in training.roots for uid in _weights(training, root)}
    for instance, function in process.catalogue.called_functions():
        root = training.root_instance(instance)
        masks = [number for number, node in enumerate(function.nodes) if _is_mask(node.name, node.type)]
        if masks and root.id not in training.roots and _weights(training, root.id) & trained:
            yield from _judge(training, root, [OpNode(RANDOM_OP, instance, function, number) for number in masks])


RULE = Rule(id="dropout-in-evaluation", severity=Severity.WRONG, find=find)


def _is_mask(name: str, kind: str) -> bool:
    return RANDOM_OP in kind and "dropout" in name.lower()


def _weights(training_graph: TrainingGraph, root: int) -> set[int]:
    captures = _function(training_graph, root).captures.values()
    return {int(one["uid"]) for one in captures if one.get("trainable") and one.get("uid") is not None}


def _function(training_graph: TrainingGraph, root: int) -> Function:
    catalogue = training_graph.process.catalogue
    return catalogue.functions[catalogue.instances[root].function]


def _judge(training_graph: TrainingGraph, root: Instance, masks: list[OpNode]) -> Iterator[RuleFinding]:
    calls = _calls(training_graph, root)
    phases = {batch.phase for call in calls if (batch := training_graph.process.batches.of_call(call)) is not None}
    given = _tensor_arguments(training_graph, root)
    if len(calls) < FEWEST_CALLS or _repeats_samples(training_graph, calls, given):
        return
    if not any(_drops(training_graph, replace(mask, call=calls[-1])) for mask in masks):
        return
    measured = Phase.EVALUATE in phases or (not phases & {Phase.PREDICT} and len(given) > 1)
    yield _finding(training_graph, root, masks, len(calls), measured)


def _calls(training_graph: TrainingGraph, root: Instance) -> list[int]:
    """Return the times at which Python called it after training had begun."""
    process = training_graph.process
    ops = [op.id for op in process.catalogue.eager.values() if op.instance == root.id]
    rows = process.calls[(process.calls["kind"] == CallKind.FUNCTION) & np.isin(process.calls["op"], ops)]
    return [int(call) for call in rows["call"][rows["step"] >= 0]]


def _tensor_arguments(training_graph: TrainingGraph, root: Instance) -> list[int]:
    """Return the tensor arguments that it is called with: samples, labels."""
    function = _function(training_graph, root.id)
    numbers = range(len(function.arguments))
    return [at for at in numbers if at not in function.captures and function.argument_dtypes[at] != RESOURCE]


def _repeats_samples(training_graph: TrainingGraph, calls: list[int], given: list[int]) -> bool:
    """Return whether it is called with the same samples again and again."""
    inputs = (training_graph.call_graphs.calls.inputs(call) for call in calls)
    seen = Counter(tuple(uids[at] for at in given if at < len(uids)) for uids in inputs) if given else Counter()
    return max(seen.values(), default=0) >= MIN_REPEATED_CALLS


def _drops(training_graph: TrainingGraph, mask: OpNode) -> bool:
    """Return whether a mask drops anything: not where the rate is 0, as with a placeholder that is fed 1.0 to keep.

    Nor in a branch that did not run, as with `training` fed False.
    """
    around = training_graph.neighbours
    if not _did_run(training_graph, mask):
        return False
    compared = [user for user in around.consumers(mask) if user.type in COMPARISONS]
    # TensorFlow computes a rate once that several masks have; the others' is told by what it is computed from
    ranges = [range_of(around, slot[0]) for user in compared for slot in around.input_ops(user) if len(slot) == 1]
    if any(one is not None and one[1] <= 0 for one in ranges):
        return False
    added = [zeros for user in compared if (zeros := _added_zeros(training_graph, user)) is not None]
    return not added or any(added)


def _added_zeros(training_graph: TrainingGraph, compared: OpNode) -> int | None:
    """Return how many zeros a dropout added to what it got in its call; None if not both were recorded.

    It tells where the rate is not known, as a condition or a placeholder without a feed.
    """
    around = training_graph.neighbours
    masks = [compared, *(one for one in around.consumers(compared) if one.type == "Cast")]
    for user in {user for mask in masks for user in around.consumers(mask) if user.type in WEIGHTING_OPS}:
        given = [one for slot in around.input_ops(user) for one in slot if one not in masks and not _is_number(one)]
        before = _recorded_before_scale(training_graph, given[0]) if len(given) == 1 else None
        after = next(iter(around.recorded_outputs(user)), None)
        if before is not None and after is not None and after.row is not None and after.has_range:
            return int(after.row["zero"]) - int(before["zero"])
    return None


def _recorded_before_scale(training_graph: TrainingGraph, op_node: OpNode) -> Row | None:
    """Return the row of an op in its call, or of what it is a multiple of: TensorFlow leaves a product with 1 out."""
    for _ in range(MAX_SCALES):
        seen = next(iter(training_graph.neighbours.recorded_outputs(op_node)), None)
        if seen is not None and seen.row is not None and seen.has_range:
            return seen.row
        slots = training_graph.neighbours.input_ops(op_node)[:1]
        if op_node.type not in SCALINGS or not slots or len(slots[0]) != 1:
            return None
        op_node = slots[0][0]
    return None


def _is_number(op_node: OpNode) -> bool:
    return op_node.type in GENERATED_CONSTANTS


def _did_run(training_graph: TrainingGraph, mask: OpNode) -> bool:
    """Return whether a mask was computed in its call, if it is in a branch of either kind of control flow."""
    call_graph = training_graph.call_graphs.of_call(mask.call)
    if mask.instance is not None and not training_graph.variables.did_run(mask.instance, call_graph):
        return False
    has_switches = mask.function is not None and any(one.type in CONTROL_FLOW_PASSES for one in mask.function.nodes)
    return not has_switches or bool(training_graph.neighbours.recorded_outputs(mask))


def _line(training_graph: TrainingGraph, mask: OpNode) -> Frame | None:
    """Return the line to change: the one with `training=True`, else the call of the model, else of the dropout."""
    site = training_graph.neighbours.site(mask)
    frames = site.frames[: site.user_index + 1] if site is not None else ()
    said = (frame for frame in reversed(frames) if "training=True" in (code_at(training_graph.process, frame) or ""))
    inner = next((at for at, frame in enumerate(frames) if frame.function in MODEL_CALL_NAMES), 0)
    outside = frames[inner - 1] if inner and frames[inner - 1].function != "<module>" else None
    return next(said, None) or outside or training_graph.frame(mask)


def _finding(
    training_graph: TrainingGraph, root: Instance, masks: list[OpNode], calls: int, measured: bool
) -> RuleFinding:
    in_session = _function(training_graph, root.id).name.startswith(SESSION_PREFIX)
    layers = list(dict.fromkeys(layer for spot in masks if (layer := training_graph.layer(spot)) is not None))
    named = f", {layers[0]} first" if layers else ""
    why = (
        f"{_where_used(in_session, calls)} "
        f"({pluralise(len(masks), 'mask')}{named}): the results are worse than the model is, and differ each time"
    )
    evidence = tuple(text_evidence("also", layer, "a random mask in each call") for layer in layers[:4])
    return RuleFinding(
        confidence=0.88 if measured else 0.6,
        why=why,
        fix=_FEED if in_session else _OFF,
        frame=_line(training_graph, masks[0]),
        op=RANDOM_OP,
        evidence=evidence,
        severity=Severity.WRONG if measured else Severity.DOUBTFUL,
    )


def _where_used(in_session: bool, calls: int) -> str:
    if in_session:
        return f"drops values in a session run that does not train, {pluralise(calls, 'time')}"
    return f"runs the model with dropout on in a function without gradients, {pluralise(calls, 'time')}"


_FEED = (
    "feed what keeps all where the model is measured or used (keep_prob: 1.0, rate: 0.0, training: False); if the "
    "variance over several draws is wanted (MC dropout), this is intended"
)
_OFF = (
    "pass training=False where the model is measured or used (Keras does so in evaluate and predict, unless the layer "
    "was called with training=True); if the variance over several draws is wanted (MC dropout), this is intended"
)
