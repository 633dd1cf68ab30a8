"""Data that is copied in every step: fed from NumPy by hand, or cast repeatedly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.dtypes import dtype_of
from tensorsleuth.core.ops.kinds import EXTERNAL_SOURCES, FEED, LITERALS
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.health_words import format_bytes
from tensorsleuth.diagnose.leaks.lifetimes import FEWEST_STEPS
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor
from tensorsleuth.trace.process.process import ProcessTrace

MIN_BYTES_PER_STEP = 1_000_000  # bytes a step; less is not worth a line
MIN_SHARE_OF_STEPS = 0.5  # an evaluation now and then costs little
MAX_SAMPLED_ROWS = 500  # of one place: enough for a mean
CAST, HALF_DTYPES = "Cast", ("float16", "bfloat16")
STATISTICS = ["min", "max", "mean", "std"]


@dataclass
class CopyingLine:
    """The copies that one line makes."""

    bytes: int = 0
    steps: set[int] = field(default_factory=set)
    values: set[tuple[float, ...]] = field(default_factory=set)
    dtypes: set[str] = field(default_factory=set)


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    rows = process.early_events()
    for op, told in ((FEED, _feed_finding), (CAST, _cast_finding)):
        for frame, line in _lines(process, rows, op).items():
            span = max(line.steps) - min(line.steps) + 1 if line.steps else 0
            is_often = len(line.steps) >= max(FEWEST_STEPS, MIN_SHARE_OF_STEPS * span)
            if is_often and line.bytes >= MIN_BYTES_PER_STEP * len(line.steps):
                yield told(frame, line)


RULE = Rule(
    id="copies", severity=Severity.NOTE, find=find, causes=("fed-by-hand", "repeated-cast", "repeated-conversion")
)


def _lines(process: ProcessTrace, rows: Array, op: str) -> dict[Frame, CopyingLine]:
    lines: dict[Frame, CopyingLine] = defaultdict(CopyingLine)
    for first, frame in _places(process, op, np.unique(rows["tensor"])).items():
        mine = rows[rows["tensor"] == first]
        if len(mine) >= FEWEST_STEPS and (op != CAST or _is_of_data(process, mine[0])):
            _add(process, lines[frame], mine)
    return lines


def _places(process: ProcessTrace, op: str, tensors: Array) -> dict[int, Frame]:
    """Tensor id -> the line, for those of some sorted ids that ops of a type make, if the ops are the program's own."""
    sites, found = process.catalogue.sites, dict[int, Frame]()
    for eager in process.catalogue.eager.values():
        site = sites.get(eager.site)
        if eager.type == op and eager.forward <= 0 and site is not None and site.frame is not None:
            begin, end = np.searchsorted(tensors, eager.tensor_bounds)
            found |= dict.fromkeys(tensors[begin:end].tolist(), site.frame)
    for instance, function in process.catalogue.called_functions():
        for node in function.nodes:
            site = sites.get(node.site)
            if node.type == op and node.forward is None and site is not None and site.frame is not None:
                found[instance.first_tensor + node.first_output] = site.frame
    return found


def _is_of_data(process: ProcessTrace, row: Array) -> bool:
    """Return whether it is data: computed values and weights cannot be cast earlier, and a policy of mixed
    precision has layers cast what they take."""
    tensor, call = process.tensor(int(row["tensor"])), process.call_of(row)
    if tensor is None or call is None or dtype_of(int(row["dtype"])).name in HALF_DTYPES:
        return False
    around = process.cached(TrainingGraph).neighbours
    cast = around.node_of(ObservedTensor(process, tensor, row, call=call))
    source = next(around.ancestors(cast), None) if cast is not None else None
    return source is None or source.type in EXTERNAL_SOURCES | LITERALS


def _add(process: ProcessTrace, copying_line: CopyingLine, rows: Array) -> None:
    for row in rows[:MAX_SAMPLED_ROWS]:
        step, shape = process.step_of(row), process.shape_of(row)
        if step is None or step < 0 or shape is None:
            continue
        dtype = dtype_of(int(row["dtype"]))
        copying_line.bytes += int(np.prod(shape)) * dtype.itemsize
        copying_line.steps.add(step)
        copying_line.dtypes.add(dtype.name)
        if len(copying_line.values) < 2:
            copying_line.values.add(tuple(float(row[name]) for name in STATISTICS))


def _feed_finding(frame: Frame, copying_line: CopyingLine) -> RuleFinding:
    a_step = copying_line.bytes / len(copying_line.steps)
    if len(copying_line.values) == 1:
        why = f"makes a tensor of the same values again and again: {format_bytes(a_step)} are copied each time"
        return _note("repeated-conversion", why, _BEFORE, frame, copying_line)
    why = f"copies {format_bytes(a_step)} a step from NumPy into tensors, while the program waits"
    return _note("fed-by-hand", why, _PIPELINE, frame, copying_line)


def _cast_finding(frame: Frame, copying_line: CopyingLine) -> RuleFinding:
    why = (
        f"casts {format_bytes(copying_line.bytes / len(copying_line.steps))} a step to "
        f"{' and '.join(sorted(copying_line.dtypes))}"
    )
    return _note("repeated-cast", why, _CAST_BEFORE, frame, copying_line)


def _note(cause: str, why: str, fix: str, frame: Frame, copying_line: CopyingLine) -> RuleFinding:
    said = f"{format_bytes(copying_line.bytes)} in {len(copying_line.steps):,} steps"
    evidence = (text_evidence("copied", cause, said, frame),)
    return RuleFinding(
        cause=cause,
        confidence=0.8,
        why=why,
        fix=fix,
        frame=frame,
        op=FEED,
        harm=copying_line.bytes / len(copying_line.steps),
        step=min(copying_line.steps),
        evidence=evidence,
    )


_BEFORE = "convert it once, before the loop (in a session: make it a tf.constant of the graph instead of feeding it)"
_PIPELINE = (
    "let tf.data copy while the model computes: Dataset.from_tensor_slices(arrays).batch(n).prefetch(2), or "
    "Dataset.from_generator"
)
_CAST_BEFORE = "cast once, where the data is loaded (array.astype), or in the dataset's map"
