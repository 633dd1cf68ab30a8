"""An embedding most of whose rows no sample uses: they keep their random initial values."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.array import Array
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.optimizer import READ_VARIABLE
from tensorsleuth.trace.process.process import ProcessTrace

TABLE_SUFFIX, SQUARES_SUFFIX = (
    "_embeddings",
    "_velocity",
)  # Adam's mean of squared gradients: exactly 0 where none ever came
FEWEST_ROWS, FEWEST_STEPS = 1000, 100
MAX_STILL_SHARE = 0.5  # of the rows


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    names = {
        handle: name
        for handle, name in training.variables.names.items()
        if name.endswith(TABLE_SUFFIX + SQUARES_SUFFIX)
    }
    reads = (
        [spot for spot in training.forward_ops((READ_VARIABLE,)) if training.variable_handle(spot) in names]
        if names
        else []
    )
    told: set[int | None] = set()
    for spot, rows in training.output_rows(reads).items():
        handle = training.variable_handle(spot)
        shape = process.shape_of(rows[-1]) or ()
        if handle is not None and handle not in told and _is_still(rows, shape):
            told.add(handle)
            yield _finding(training, names[handle], rows, shape)


RULE = Rule(id="still-embedding-rows", severity=Severity.NOTE, find=find)


def _is_still(rows: Array, shape: tuple[int, ...]) -> bool:
    large = len(shape) == 2 and shape[0] >= FEWEST_ROWS and len(rows) >= FEWEST_STEPS
    return large and float(rows["zero"][-1]) > MAX_STILL_SHARE * shape[0] * shape[1]


def _finding(training_graph: TrainingGraph, name: str, rows: Array, shape: tuple[int, ...]) -> RuleFinding:
    still = int(rows["zero"][-1]) // shape[1]
    slot = name.rpartition("/")[2].removesuffix(SQUARES_SUFFIX)
    table = next((one for one in training_graph.variables.names.items() if one[1].replace("/", "_") == slot), None)
    why = (
        f"makes an embedding of {shape[0]:,} rows, and in {len(rows):,} steps {still:,} of them "
        f"({100 * still / shape[0]:.0f} %) never got a gradient: no sample has their ids"
    )
    frame = training_graph.variables.creation_line(table[0]) if table is not None else None
    evidence = (
        text_evidence("also", table[1] if table is not None else name, f"{list(shape)}, {still:,} rows never moved"),
    )
    return RuleFinding(
        confidence=0.8,
        why=why,
        fix=_SMALLER,
        frame=frame,
        op=READ_VARIABLE,
        evidence=evidence,
    )


_SMALLER = (
    "make the table as large as the vocabulary that the data has, or look whether ids are what the tokenizer gives; of "
    "a run that has seen a part of its data only, nothing is wrong"
)
