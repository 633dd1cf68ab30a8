"""Two layers, one after the other, whose weights all start at one number: their units never become different."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import EventKind
from tensorsleuth.core.ops.kinds import VARIABLE_READS
from tensorsleuth.core.ops.products import LAYER_PRODUCTS
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import element_counts
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.loops import TrainingLoop, TrainingLoops
from tensorsleuth.diagnose.training.optimizer import READ_VARIABLE
from tensorsleuth.diagnose.training.weight_reads import WeightReads
from tensorsleuth.trace.dataflow.observed_tensor import uid_of
from tensorsleuth.trace.process.process import ProcessTrace

MAX_HOPS = 10  # ops from one product to the next
FEWEST_STEPS = 2


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    loops = process.cached(TrainingLoops)
    for loop in loops.all:
        pair = next(EqualLayers(process, loop).pairs(), None) if len(loop) >= FEWEST_STEPS else None
        if pair is not None:
            yield _finding(process, loop, *pair)


RULE = Rule(
    id="equal-weights",
    severity=Severity.WRONG,
    find=find,
    supersedes=(
        "step-length",
        "zero-gradients",
        "dead-layer",
        "flat-loss",
        "chance-loss",
        "predictions-collapsed",
        "frozen-weights",
        "vanishing-gradients",
    ),
)


class EqualLayers:
    """The layers of a loop whose weights are all equal before its first step."""

    def __init__(self, process: ProcessTrace, loop: TrainingLoop) -> None:
        self._process = process
        self._training = process.cached(TrainingLoops).training
        self._first = int(loop.calls[0])
        starts = ((handle, self._start(handle)) for handle in sorted(loop.variables))
        self._starts = {handle: row for handle, row in starts if row is not None}

    def pairs(self) -> Iterator[tuple[int, int, float]]:
        """Yield two variables, the first of several units whose outputs meet only the second, and their number."""
        for handle in self._starts:
            units = self._shape(handle)[-1:]
            for product in self._products(handle) if self._is_equal(handle) and units and units[0] > 1 else ():
                for following in self._following(product, handle):
                    yield handle, following, float(self._starts[handle]["min"])

    def _start(self, handle: int) -> Array | None:
        """Return the row of the value that the first step uses."""
        rows = self._process.cached(WeightReads).of(handle)
        if rows is None:
            return None
        is_eager = rows["kind"] == EventKind.EAGER
        before = rows[is_eager & (rows["step"] < self._first)]
        in_graphs = rows[~is_eager]
        return before[-1] if len(before) else in_graphs[0] if len(in_graphs) else None

    def _shape(self, handle: int) -> tuple[int, ...]:
        return self._process.shape_of(self._starts[handle]) or ()

    def _is_equal(self, handle: int) -> bool:
        row = self._starts.get(handle)
        return row is not None and bool(row["min"] == row["max"]) and len(self._shape(handle)) > 1

    # ---- through the program

    @cached_property
    def _reads(self) -> dict[int, list[OpNode]]:
        found: dict[int, list[OpNode]] = {handle: [] for handle in self._starts}
        for handle, row in self._starts.items():
            if row["kind"] == EventKind.EAGER:
                found[handle].append(OpNode(READ_VARIABLE, uids=(uid_of(row),), call=int(row["step"])))
        for spot in self._training.forward_ops((READ_VARIABLE,)):
            read = self._training.variable_handle(spot)
            if read is not None and read in found:
                found[read].append(spot)
        return found

    def _products(self, handle: int) -> list[OpNode]:
        users = (user for read in self._reads[handle] for user in self._training.forward_consumers(read))
        return [user for user in users if user.type in LAYER_PRODUCTS]

    def _weights_into(self, op_node: OpNode) -> list[int]:
        """Return the variables among the operands of an op."""
        sources = {one for slot in self._training.neighbours.input_ops(op_node) for one in slot}
        found = [handle for handle, reads in self._reads.items() if sources & {*reads}]
        others = [one for one in sources if one.type in VARIABLE_READS]
        return found if len(found) >= len(others) else [*found, -1]

    def _following(self, product: OpNode, handle: int) -> Iterator[int]:
        """Yield the equal weights of the next products, unless something on the way tells units apart."""
        level, seen = [product], {product}
        for _ in range(MAX_HOPS):
            users = [user for one in level for user in self._training.forward_consumers(one) if user not in seen]
            seen.update(users)
            level = []
            for user in dict.fromkeys(users):
                weights = self._weights_into(user)
                if user.type in LAYER_PRODUCTS:
                    yield from (one for one in weights if one != handle and self._is_equal(one))
                elif all(self._is_constant(one) for one in weights) and "Random" not in user.type:
                    level.append(user)

    def _is_constant(self, handle: int) -> bool:
        row = self._starts.get(handle)
        return row is not None and bool(row["min"] == row["max"])


def _finding(process: ProcessTrace, loop: TrainingLoop, first: int, second: int, value: float) -> RuleFinding:
    variables, reads = process.cached(TrainingLoops).training.variables, process.cached(WeightReads)
    names = variables.name(first), variables.name(second)
    rows = reads.of(first)
    shape = process.shape_of(rows[0]) if rows is not None else None
    units = shape[-1] if shape else 0
    fate = "no gradient reaches them" if value == 0 else "they get the same gradient"
    why = (
        f"starts all weights of `{names[0]}` at {value:.3g}, and those of `{names[1]}`, which takes its output, at one "
        f"number too: its {units} units compute the same for every sample, {fate} and stay equal in all {len(loop):,} "
        "steps, as if there were one"
    )
    shown = [(name, reads.of(handle)) for name, handle in zip(names, (first, second), strict=True)]
    evidence = tuple(
        text_evidence(
            "also", name, f"{int(element_counts(rows[:1])[0])} numbers, all {rows['min'][0]:.3g} at the start"
        )
        for name, rows in shown
        if rows is not None
    )
    return RuleFinding(
        confidence=0.9,
        why=why,
        fix=_RANDOM,
        frame=variables.creation_line(first) or loop.line,
        op=loop.op,
        step=0,
        evidence=evidence,
    )


_RANDOM = (
    "random first weights: glorot_uniform (Keras's default), he_normal before a ReLU, tf.random.normal(shape) * 0.1; "
    "zeros are for biases, and for one layer alone"
)
