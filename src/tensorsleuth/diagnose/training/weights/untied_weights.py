"""An output layer that was initialized with the embedding, and is trained separately."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np

from tensorsleuth.core.ops.data_ops import EMBEDDING_LOOKUPS
from tensorsleuth.core.ops.products import LAYER_PRODUCTS
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import MAX_HOPS_TO_WEIGHTS, TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.variable_writes import WrittenVariables
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.series.layer_stats import LayerStatistics
from tensorsleuth.trace.series.watched import WatchedSeries

MIN_ELEMENTS = 256  # numbers in the table
MAX_NORM_DIFFERENCE = 1e-6  # by which the norms of both may differ before the first step, and must at the last look
FEWEST_EAGER_WRITES = 2  # eager writes: the first value, and the copy


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    tables = [one for one in process.cached(LayerStatistics).updates if _is_matrix(one)]
    pairs = [two for two in permutations(tables, 2) if _began_alike(*two) and _went_apart(*two)]
    if not pairs:
        return
    training = process.cached(TrainingGraph)
    written, gathered, multiplied = (
        WrittenVariables(training),
        _read_by(training, EMBEDDING_LOOKUPS),
        _read_by(training, LAYER_PRODUCTS),
    )
    for table, output in pairs:
        handles = _handle(training, table), _handle(training, output)
        if handles[0] in gathered and handles[1] in multiplied - gathered and handles[1] is not None:
            calls = written.by_eager_calls.get(handles[1], [])
            if len(calls) >= FEWEST_EAGER_WRITES:
                yield _finding(training, table, output, calls[-1])


RULE = Rule(id="untied-weights", severity=Severity.WRONG, find=find)


def _is_matrix(one: WatchedSeries) -> bool:
    return (
        len(one.shape()) == 2 and int(np.prod(one.shape())) >= MIN_ELEMENTS and len(one) > 1 and int(one.steps[0]) == 0
    )


def _began_alike(one: WatchedSeries, other: WatchedSeries) -> bool:
    """Return whether both had the same shape, or its transpose, and the same norm before the first step."""
    norms = float(one.rows["before"][0]), float(other.rows["before"][0])
    alike = other.shape() in (one.shape(), one.shape()[::-1])
    return alike and norms[0] > 0 and abs(norms[0] - norms[1]) <= MAX_NORM_DIFFERENCE * norms[0]


def _went_apart(one: WatchedSeries, other: WatchedSeries) -> bool:
    norms = float(one.rows["before"][-1]), float(other.rows["before"][-1])
    return abs(norms[0] - norms[1]) > MAX_NORM_DIFFERENCE * norms[0]


def _read_by(training_graph: TrainingGraph, types: frozenset[str]) -> set[int]:
    """Return the variables that ops of these types read, at most cast or transposed."""
    found: set[int] = set()
    for spot in training_graph.forward_ops(types):
        found |= {
            handle
            for one in _operands(training_graph, spot)
            if (handle := training_graph.variable_handle(one)) is not None
        }
    return found


def _operands(training_graph: TrainingGraph, op_node: OpNode) -> list[OpNode]:
    if op_node.type == "ResourceGather":
        return [op_node]
    level, found = [op_node], list[OpNode]()
    for _ in range(MAX_HOPS_TO_WEIGHTS):
        sources = [one for op in level for slot in training_graph.neighbours.input_ops(op) for one in slot]
        found += [one for one in sources if one.type == "ReadVariableOp"]
        level = [one for one in sources if one.type in ("Cast", "Transpose", "Identity")]
    return found


def _handle(training_graph: TrainingGraph, one: WatchedSeries) -> int | None:
    return next((handle for handle, known in training_graph.variables.names.items() if known == one.name), None)


def _finding(training_graph: TrainingGraph, table: WatchedSeries, output: WatchedSeries, call: int) -> RuleFinding:
    site = training_graph.neighbours.site(OpNode("AssignVariableOp", call=call))
    ends = float(table.rows["before"][-1]), float(output.rows["before"][-1])
    why = (
        f"copies the embedding `{table.name}` to `{output.name}`, which does not tie them: both had the norm "
        f"{table.rows['before'][0]:.6g} before the first step, each gets updates of its own, and before step "
        f"{int(table.steps[-1])} they have {ends[0]:.6g} and {ends[1]:.6g}"
    )
    evidence = tuple(text_evidence("also", one.name, f"{list(one.shape())}") for one in (table, output))
    frame = site.frame if site is not None else None
    return RuleFinding(
        confidence=0.88,
        why=why,
        fix=_ONE,
        frame=frame,
        op="AssignVariableOp",
        step=0,
        evidence=evidence,
    )


_ONE = (
    "use one variable for both: tf.matmul(x, embedding.embeddings, transpose_b=True) for the logits, or keras-hub's "
    "ReversibleEmbedding; if only the initial values should be equal, nothing is wrong"
)
