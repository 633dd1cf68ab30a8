"""A mask that is passed to a training step, hides some positions, and that no result depends on."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.analyze.attention.input_names import program_input_name
from tensorsleuth.core.finding import Basis
from tensorsleuth.core.ops.elementwise import EQUALITIES
from tensorsleuth.core.ops.function_names import program_name
from tensorsleuth.diagnose.graph.live_tensors import LiveTensors
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph, tensor_id_of
from tensorsleuth.diagnose.inputs.model_inputs import ModelInputs
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import LayerStatistics
from tensorsleuth.trace.series.watched import WatchedSeries

FEWEST_BATCHES = 2


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    given, live = process.cached(ModelInputs), process.cached(LiveTensors)
    for tensor, series in given.series_by_tensor.items():
        described = process.tensor(tensor)
        if described is None or described.instance is None or not _is_mask(series):
            continue
        root = given.training.root_instance(described.instance).id
        if tensor not in live.of_root(root):
            made = _makes_own(given.training, root)
            yield _finding(given, OpNode("Argument", described.instance, described.function), series, made)
    for op_node, name in _never_taken(process, given.training):
        yield _note(given, op_node, name)


RULE = Rule(id="mask-unused", severity=Severity.WRONG, find=find, basis=Basis.GRAPH)


def _never_taken(process: ProcessTrace, training_graph: TrainingGraph) -> Iterator[tuple[OpNode, str]]:
    """Yield masks in the elements of a dataset that TensorFlow does not even look at, while it does at the others."""
    seen = {one.number for one in process.cached(LayerStatistics).inputs}
    inputs = [one for one in process.catalogue.series.values() if one.kind == "input" and one.trains and one.op]
    taken = {one.name.partition("/")[0] for one in inputs if one.number in seen}
    for one in inputs:
        function, name = one.name.partition("/")[0], program_input_name(one.name)
        if one.number not in seen and function in taken and "mask" in name.lower():
            nodes = (OpNode("", *where) for where in training_graph.instances)
            node = next(
                (each for each in nodes if each.function and program_name(each.function.name) == function), None
            )
            if node is not None:
                yield node, name


def _is_mask(series: WatchedSeries) -> bool:
    """Return whether it is named so, and hides some positions and not all."""
    rows = series.rows
    named = "mask" in program_input_name(series.name).lower()
    hides = len(rows) >= FEWEST_BATCHES and 0 < int(rows["zero"].sum()) < int(rows["elements"].sum())
    return named and hides and float(rows["min"].min()) == 0


def _makes_own(training_graph: TrainingGraph, root: int) -> bool:
    """Return whether the function compares integers itself, as with the padding id: it may make its own mask."""
    live = training_graph.process.cached(LiveTensors).of_root(root)
    tests = (spot for spot in training_graph.forward_ops(EQUALITIES) if training_graph.root_id(spot) == root)
    return any(tensor_id_of(spot) in live and _compares_integers(training_graph, spot) for spot in tests)


def _compares_integers(training_graph: TrainingGraph, spot: OpNode) -> bool:
    sources = [one for slot in training_graph.neighbours.input_ops(spot) for one in slot]
    return any("int" in training_graph.neighbours.dtype(one) for one in sources)


def _finding(model_inputs: ModelInputs, op_node: OpNode, series: WatchedSeries, makes_own: bool) -> RuleFinding:
    name, rows = program_input_name(series.name), series.rows
    share = int(rows["zero"].sum()) / int(rows["elements"].sum())
    why = (
        f"passes `{name}` to the training step, and nothing there depends on it: the positions that it hides, "
        f"{100 * share:.0f} % of all, are read as if they were data"
    )
    if makes_own:
        why += ", unless the mask that the step makes itself is the same"
    return RuleFinding(
        confidence=0.6 if makes_own else 0.88,
        why=why,
        fix=_PASS,
        frame=model_inputs.entry(op_node),
        op="mask",
        evidence=(text_evidence("in", name, f"{int(rows['zero'].sum()):,} of {int(rows['elements'].sum()):,} are 0"),),
        severity=Severity.DOUBTFUL if makes_own else Severity.WRONG,
    )


def _note(model_inputs: ModelInputs, op_node: OpNode, name: str) -> RuleFinding:
    why = (
        f"passes `{name}` to the training step, and nothing there depends on it: padding that it hides is read as data"
    )
    return RuleFinding(
        confidence=0.7,
        why=why,
        fix=_PASS,
        frame=model_inputs.entry(op_node),
        op="mask",
        severity=Severity.DOUBTFUL,
    )


_PASS = (
    "hand it on to the layers and to the loss: attention(x, x, attention_mask=mask[:, None, :]), a mean that is "
    "weighted "
    "with it, sample_weight=mask; or leave it out of the data"
)
