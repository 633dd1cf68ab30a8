"""A dropout that keeps next to nothing: what it keeps it multiplies, so that activations and gradients explode."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.catalog import Frame
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.nan.case import Case, Explanation
from tensorsleuth.diagnose.nan.causes.training import growth
from tensorsleuth.diagnose.needs import Need
from tensorsleuth.trace.dataflow.call_graph import constant_of

NEEDS = Need.TRAINING
MIN_SCALE = 20.0  # 1 / (1 − rate), for a rate of 0.95
_SCOPE = "dropout"


def match(case: Case) -> Explanation | None:
    grown = growth.match(case)
    if grown is None or grown.cause != "learning-rate":
        return None
    training = case.process.cached(TrainingGraph)
    found = max(_dropouts(training), key=lambda pair: pair[0], default=None)
    if found is None:
        return None
    scale, node = found
    rate = round(1 - 1 / scale, 6)
    why = (
        f"drops {100 * rate:.4g} % of the numbers (rate {rate:g}) and multiplies the others by {scale:,.4g}: "
        f"activations and gradients are that much larger, and the weights grew until {case.op} overflowed"
    )
    return Explanation("dropout-rate", 0.94, why, _LOWER, frame=_frame(training, node, rate))


def _dropouts(training_graph: TrainingGraph) -> Iterator[tuple[float, OpNode]]:
    """Yield the factors of dropouts that are large, with their ops."""
    for node in training_graph.forward_ops(("Mul",)):
        name = node.graph_node.name.lower() if node.graph_node is not None else ""
        for scale in _constants(training_graph, node) if _SCOPE in name else ():
            if scale >= MIN_SCALE:
                yield scale, node


def _constants(training_graph: TrainingGraph, op_node: OpNode) -> Iterator[float]:
    """Yield the numbers among its inputs that are written in the graph."""
    for source in (one for slot in training_graph.neighbours.input_ops(op_node) for one in slot):
        values = constant_of(source.graph_node) if source.graph_node is not None else None
        yield from values if values is not None and len(values) == 1 else ()


def _frame(training_graph: TrainingGraph, op_node: OpNode, rate: float) -> Frame | None:
    """Return the only line that names a dropout and this rate; else the line of the op."""
    frame = training_graph.frame(op_node)
    text = training_graph.process.catalogue.sources.get(frame.file, "") if frame is not None else ""
    lines = [number for number, line in enumerate(text.splitlines(), 1) if _names_rate(line, rate)]
    return Frame(frame.file, lines[0], frame.function) if frame is not None and len(lines) == 1 else frame


def _names_rate(line: str, rate: float) -> bool:
    return _SCOPE in line.lower() and (f"{rate:g}" in line or f"{rate:g}".lstrip("0") in line)


_LOWER = (
    "a dropout takes the share that is dropped, 0.1 to 0.5 as a rule; 1 − rate was the argument (keep_prob) of "
    "TensorFlow 1"
)
