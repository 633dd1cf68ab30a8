"""An embedding most of whose rows no sample ever asked for: they are what they were drawn as."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.array import Array
from tensorsleuth.diagnose.graph.training import Training
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, piece
from tensorsleuth.diagnose.training.optimizer import READ
from tensorsleuth.trace.process.process import ProcessTrace

TABLE, SQUARES = "_embeddings", "_velocity"  # Adam's mean of squared gradients: exactly 0 where none ever came
FEWEST_ROWS, FEWEST_STEPS = 1000, 100
MOST = 0.5  # of the rows


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.once(Training)
    names = {handle: name for handle, name in training.variables.names.items() if name.endswith(TABLE + SQUARES)}
    reads = [spot for spot in training.forward((READ,)) if training.handle(spot) in names] if names else []
    told: set[int | None] = set()
    for spot, rows in training.rows(reads).items():
        handle = training.handle(spot)
        shape = process.shape_of(rows[-1]) or ()
        if handle is not None and handle not in told and _is_still(rows, shape):
            told.add(handle)
            yield _finding(training, names[handle], rows, shape)


RULE = Rule(id="still-embedding-rows", severity=Severity.NOTE, find=find)


def _is_still(rows: Array, shape: tuple[int, ...]) -> bool:
    large = len(shape) == 2 and shape[0] >= FEWEST_ROWS and len(rows) >= FEWEST_STEPS
    return large and float(rows["zero"][-1]) > MOST * shape[0] * shape[1]


def _finding(training: Training, name: str, rows: Array, shape: tuple[int, ...]) -> RuleFinding:
    still = int(rows["zero"][-1]) // shape[1]
    slot = name.rpartition("/")[2].removesuffix(SQUARES)
    table = next((one for one in training.variables.names.items() if one[1].replace("/", "_") == slot), None)
    why = (
        f"makes an embedding of {shape[0]:,} rows, and in {len(rows):,} steps {still:,} of them "
        f"({100 * still / shape[0]:.0f} %) never got a gradient: no sample has their ids"
    )
    frame = training.variables.made_at(table[0]) if table is not None else None
    evidence = (piece("also", table[1] if table is not None else name, f"{list(shape)}, {still:,} rows never moved"),)
    return RuleFinding(
        confidence=0.8,
        why=why,
        fix=_SMALLER,
        frame=frame,
        op=READ,
        evidence=evidence,
    )


_SMALLER = (
    "make the table as large as the vocabulary that the data has, or look whether ids are what the tokenizer gives; of "
    "a run that has seen a part of its data only, nothing is wrong"
)
