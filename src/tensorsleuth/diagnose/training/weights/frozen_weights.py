"""A training step that writes all of its weights, and changes none: as with a learning rate of zero."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.array import Array
from tensorsleuth.diagnose.graph.neighbours import Spot
from tensorsleuth.diagnose.graph.training import Training, elements_of
from tensorsleuth.diagnose.health_words import many
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, piece
from tensorsleuth.diagnose.training.optimizer import READ, optimizer_at, rate_of
from tensorsleuth.diagnose.training.variable_writes import Written
from tensorsleuth.trace.process.process import ProcessTrace

FEWEST_STEPS = 32  # gradients may be gathered over some, and a loss scale may skip the first
LEAST = 16  # numbers in all of them: one alone may stay where it is
MOST_SHOWN = 4


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.once(Training)
    written = Written(training)
    for root in training.roots:
        rows = training.rows(_reads(training, written, root))
        stay = rows and _elements(rows) >= LEAST and all(_stays(part) for part in rows.values())
        if stay:
            yield _finding(training, written, root, rows)


RULE = Rule(id="frozen-weights", severity=Severity.WRONG, find=find, supersedes=("flat-loss",))


def _reads(training: Training, written: Written, root: int) -> list[Spot]:
    """Yield the reads of written weights in a function that trains."""
    catalogue = training.process.catalogue
    captures = catalogue.functions[catalogue.instances[root].function].captures.values()
    trained = {int(one["uid"]) for one in captures if one.get("trainable") and one["uid"] in written.by_functions}
    reads = (spot for spot in training.forward((READ,)) if training.root_of(spot) == root)
    return [spot for spot in reads if training.handle(spot) in trained]


def _elements(rows: dict[Spot, Array]) -> int:
    return sum(int(elements_of(part[:1])[0]) for part in rows.values())


def _stays(rows: Array) -> bool:
    """Are the smallest and the largest of its numbers, and how many have which sign, the same in every step."""
    columns = ("min", "max", "neg", "zero", "pos")
    return len(rows) >= FEWEST_STEPS and all(bool((rows[name] == rows[name][0]).all()) for name in columns)


def _finding(training: Training, written: Written, root: int, rows: dict[Spot, Array]) -> RuleFinding:
    steps = max(len(part) for part in rows.values())
    handles = list(dict.fromkeys(handle for spot in rows if (handle := training.handle(spot)) is not None))
    update = next(spot for spot in written.by_functions[handles[0]])
    rate = rate_of(training)
    zero = rate is not None and rate == 0
    why = (
        f"writes {many(len(handles), 'variable')} in each of {steps:,} steps and changes none of them: "
        + ("the learning rate is 0" if zero else "every update is zero")
        + ", so the model has not changed since the start"
    )
    said = [(training.variables.name(handle), part[0]) for handle, part in zip(handles, rows.values())]
    evidence = tuple(piece("also", name, _range(row, steps)) for name, row in said[:MOST_SHOWN])
    return RuleFinding(
        confidence=0.93,
        why=why,
        fix=_RATE,
        frame=optimizer_at(training) or written.updated_at(update),
        op=update.type,
        step=0,
        evidence=evidence,
    )


def _range(row: Array, steps: int) -> str:
    return f"{row['min']:.6g} … {row['max']:.6g} in all {steps:,} steps"


_RATE = (
    "print the learning rate that the optimizer uses in a step: a schedule that divides integers, has no steps "
    "left or was given 0; else look for gradients that are all zero (tf.stop_gradient, argmax, rounding)"
)
