"""Inputs that are the same number in every sample, as pixels that were divided by 255 twice and rounded."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.ops.data_ops import EMBEDDING_LOOKUPS
from tensorsleuth.core.ops.kinds import VARIABLE_READS
from tensorsleuth.core.ops.products import LAYER_PRODUCTS
from tensorsleuth.diagnose.expressions import Expressions
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.inputs.dataset_lines import DatasetLines
from tensorsleuth.diagnose.nan.array_source import latest_value
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.samples.batch_inputs import BatchInput, BatchInputs
from tensorsleuth.trace.process.process import ProcessTrace

FEWEST_BATCHES, FEWEST_NUMBERS = 5, 64


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    features = process.cached(BatchInputs).features
    for root in dict.fromkeys(one.root for one in features if _is_constant(one)):
        of_root = [one for one in features if one.root == root]
        if all(_is_constant(one) and _feeds_first_layer(process, one, of_root) for one in of_root):
            matters = _value(of_root[0]) == 0 or _has_varied_labels(process.cached(BatchInputs))
            if matters and not _looks_up(process, root):
                yield _finding(process, of_root[0])
                return


RULE = Rule(
    id="constant-inputs",
    severity=Severity.WRONG,
    find=find,
    supersedes=(
        "dead-layer",
        "saturated-layer",
        "zero-gradients",
        "vanishing-gradients",
        "flat-loss",
        "chance-loss",
        "predictions-collapsed",
        "constant-labels",
        "step-length",
        "poor-initialisation",
    ),
)


def _is_constant(one: BatchInput) -> bool:
    numbers = one.numbers
    enough = len(numbers) >= FEWEST_BATCHES and int(numbers.elements.sum()) >= FEWEST_NUMBERS
    return enough and float(numbers.min.min()) == float(numbers.max.max())


def _value(one: BatchInput) -> float:
    return float(one.numbers.min[0])


def _has_varied_labels(inputs: BatchInputs) -> bool:
    return any(float(one.numbers.min.min()) < float(one.numbers.max.max()) for one in inputs.labels)


def _looks_up(process: ProcessTrace, root: int) -> bool:
    """Return whether ids go into the model too."""
    training = process.cached(TrainingGraph)
    if root < 0:
        return any(op.type in EMBEDDING_LOOKUPS for op in process.catalogue.eager.values())
    return any(training.root_id(spot) == root for spot in training.forward_ops(EMBEDDING_LOOKUPS))


def _feeds_first_layer(process: ProcessTrace, one: BatchInput, blank: list[BatchInput]) -> bool:
    """Return whether its weights multiply nothing else, unlike those of a recurrent layer whose first state is 0."""
    if one.part is not None or one.root < 0:
        return True
    training = process.cached(TrainingGraph)
    mine, known = _weights(training, one.consumer), [other.consumer for other in blank]
    others = (spot for spot in training.forward_ops(LAYER_PRODUCTS) if spot not in known)
    return not any(mine & _weights(training, spot) for spot in others)


def _weights(training_graph: TrainingGraph, op_node: OpNode) -> set[int]:
    """Return the variables that a product multiplies."""
    sources = (one for slot in training_graph.neighbours.input_ops(op_node) for one in slot)
    handles = (training_graph.variable_handle(one) for one in sources if one.type in VARIABLE_READS)
    return {handle for handle in handles if handle is not None}


# ---- the line that made them


def _fed_at(process: ProcessTrace, one: BatchInput) -> Frame | None:
    """Return the line that made the dataset of the inputs; else the line that passes them."""
    calls = process.calls
    ops = [op.id for op in process.catalogue.eager.values() if op.instance == one.root]
    known = [int(row["call"]) for row in calls if int(row["op"]) in ops][:1] if one.root >= 0 else [one.consumer.call]
    made = process.cached(DatasetLines).of_call(known[0]) if known else None
    op = process.cached(TrainingGraph).call_graphs.calls.op(known[0]) if known else None
    site = process.catalogue.sites.get(op.site) if op is not None else None
    return made or (site.frame if site is not None else None)


def _made_at(process: ProcessTrace, one: BatchInput, fed: Frame) -> Frame | None:
    """Return the line that last gave the fed array its value, if the line that feeds it names the array."""
    text = process.catalogue.sources.get(fed.file, "")
    names = {name for call in process.cached(Expressions).calls(fed) if (name := _array_name(call, one)) is not None}
    value = latest_value(text, next(iter(names)), fed.line) if len(names) == 1 else None
    if value is None or value.node.lineno == fed.line:
        return None
    return replace(Frame(fed.file, value.node.lineno, value.function), shown_at=fed)


def _array_name(call: ast.Call, one: BatchInput) -> str | None:
    """Return the name of the array that a call feeds: its first argument, or that part of it."""
    given = call.args[0] if call.args else None
    if isinstance(given, ast.Tuple | ast.List) and one.part is not None and one.part[0] < len(given.elts):
        given = given.elts[one.part[0]]
    return given.id if isinstance(given, ast.Name) else None


def _finding(process: ProcessTrace, one: BatchInput) -> RuleFinding:
    value, numbers, layer = _value(one), one.numbers, process.cached(TrainingGraph).layer(one.consumer)
    fed = _fed_at(process, one)
    made = _made_at(process, one, fed) if fed is not None else None
    verb = "makes" if made is not None else "feeds"
    first = f" ({layer})" if layer else ""
    learns = "gets no gradient for its weights" if value == 0 else "sees no sample differ from another"
    why = (
        f"{verb} inputs that are all {value:.6g}: {int(numbers.elements.sum()):,} numbers in {len(numbers):,} sampled "
        f"batches, and no other one. The first layer{first} {learns}, and what follows cannot depend on the samples"
    )
    evidence = [text_evidence("also", "first layer", "multiplies them with its weights", one.frame)]
    if made is not None:
        evidence.append(text_evidence("also", "dataset", "the samples are fed here", fed))
    return RuleFinding(
        confidence=0.92,
        why=why,
        fix=_LOOK,
        frame=made or fed or one.frame,
        op=one.consumer.type,
        step=0,
        evidence=tuple(evidence),
    )


_LOOK = (
    "print array.min(), array.max() before and after each step of preprocessing: look for pixels that are divided by "
    "255 twice, a cast to integers before the division, a threshold that nothing passes, and files that were not read"
)
