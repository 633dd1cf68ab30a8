"""A training step that writes all of its weights and changes none, as with a learning rate of zero."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.ops.kinds import BRANCHES
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph, element_counts
from tensorsleuth.diagnose.health_words import pluralise
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.optimizer import READ_VARIABLE, last_learning_rate, optimizer_line
from tensorsleuth.diagnose.training.variable_writes import WrittenVariables
from tensorsleuth.diagnose.training.weight_reads import is_constant
from tensorsleuth.diagnose.training.weights.zero_rate import ZeroRate, zero_rate
from tensorsleuth.trace.process.process import ProcessTrace

FEWEST_STEPS, FEWEST_STEPS_IF_CONDITIONAL = 16, 64  # gradients are gathered over some, a loss scale skips the first
MIN_ELEMENTS = 16  # numbers in all of them: one alone may stay where it is
MOST_SHOWN = 4


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    written_variables = WrittenVariables(training)
    for root in training.roots:
        rows = training.output_rows(_reads(training, written_variables, root))
        fewest = FEWEST_STEPS_IF_CONDITIONAL if _is_conditional(training, written_variables, root) else FEWEST_STEPS
        enough = _elements(rows) >= MIN_ELEMENTS and all(len(part) >= fewest for part in rows.values())
        if rows and enough and all(is_constant(part) for part in rows.values()):
            yield _finding(training, written_variables, root, rows)


RULE = Rule(
    id="frozen-weights",
    severity=Severity.WRONG,
    find=find,
    supersedes=(
        "step-length",
        "flat-loss",
        "predictions-collapsed",
    ),
)


def _reads(training_graph: TrainingGraph, written_variables: WrittenVariables, root: int) -> list[OpNode]:
    """Return the reads of written weights in a function that trains."""
    catalogue = training_graph.process.catalogue
    captures = catalogue.functions[catalogue.instances[root].function].captures.values()
    written = {handle for handle, _ in _writes(training_graph, written_variables, root)}
    trained = {int(one["uid"]) for one in captures if one.get("trainable") and one["uid"] in written}
    reads = (spot for spot in training_graph.forward_ops((READ_VARIABLE,)) if training_graph.root_id(spot) == root)
    return [spot for spot in reads if training_graph.variable_handle(spot) in trained]


def _elements(rows: dict[OpNode, Array]) -> int:
    return sum(int(element_counts(part[:1])[0]) for part in rows.values())


def _writes(
    training_graph: TrainingGraph, written_variables: WrittenVariables, root: int
) -> Iterator[tuple[int, OpNode]]:
    """Yield the variables that a function writes, each with the ops that do."""
    for handle, spots in written_variables.by_functions.items():
        yield from ((handle, spot) for spot in spots if training_graph.root_id(spot) == root)


def _is_conditional(training_graph: TrainingGraph, written_variables: WrittenVariables, root: int) -> bool:
    """Return whether a branch decides if a variable is written."""
    catalogue = training_graph.process.catalogue
    instances = {spot.instance for _, spot in _writes(training_graph, written_variables, root)}
    for instance in instances:
        while instance is not None and instance.parent in catalogue.instances:
            parent = catalogue.instances[instance.parent]
            if catalogue.functions[parent.function].nodes[instance.node].type in BRANCHES:
                return True
            instance = parent
    return False


def _finding(
    training_graph: TrainingGraph, written_variables: WrittenVariables, root: int, rows: dict[OpNode, Array]
) -> RuleFinding:
    steps = max(len(part) for part in rows.values())
    handles = list(
        dict.fromkeys(handle for spot in rows if (handle := training_graph.variable_handle(spot)) is not None)
    )
    update = next(spot for handle, spot in _writes(training_graph, written_variables, root) if handle == handles[0])
    names = [training_graph.variables.name(handle) for handle in handles]
    said = [(name, part[0]) for name, part in zip(names, rows.values())]
    evidence = tuple(text_evidence("also", name, _range(row, steps)) for name, row in said[:MOST_SHOWN])
    line = optimizer_line(training_graph) or written_variables.update_line(update)
    found = RuleFinding(
        confidence=0.93,
        why=_why(training_graph, len(handles), steps),
        fix=_RATE,
        frame=line,
        op=update.type,
        step=0,
        evidence=evidence,
    )
    held = zero_rate(training_graph, written_variables, root)
    return _at_rate(found, held, line, len(handles), steps) if held is not None else found


def _why(training_graph: TrainingGraph, count: int, steps: int) -> str:
    rate = last_learning_rate(training_graph)
    return (
        f"writes {pluralise(count, 'variable')} in each of {steps:,} steps and changes none of them: "
        + ("the learning rate is 0" if rate is not None and rate == 0 else "every update is zero")
        + ", so the model has not changed since the start"
    )


def _at_rate(found: RuleFinding, held: ZeroRate, line: Frame | None, count: int, steps: int) -> RuleFinding:
    """Return the finding at the variable that holds the rate, or at the op that sets it and that nothing runs."""
    frame = held.setter or held.made
    if frame is None:
        return found
    made = f" (made in {_line(held.made, held.setter)})" if held.made is not None and held.setter is not None else ""
    start = (
        f"makes an op that sets the learning rate `{held.name}`{made}, and no session runs it: the rate is its first "
        f"value, 0, in all {steps:,} steps"
        if held.setter is not None
        else f"makes the learning rate `{held.name}`, which is 0 in all {steps:,} steps"
        + (" because nothing sets it after its initializer" if held.is_never_set else "")
    )
    why = f"{start}, so updates of {pluralise(count, 'variable')} change none of them"
    update = text_evidence("also", "update", "takes that rate", line)
    fix = _RUN_SETTER if held.setter is not None else _SET_RATE
    return replace(found, why=why, fix=fix, frame=frame, evidence=(update, *found.evidence))


def _line(frame: Frame, other: Frame) -> str:
    """Return a line in words, with its file if that is not the other's."""
    return f"line {frame.line}" + (f" of {Path(frame.file).name}" if frame.file != other.file else "")


def _range(row: Array, steps: int) -> str:
    return f"{row['min']:.6g} … {row['max']:.6g} in all {steps:,} steps"


_RUN_SETTER = "run the op before the steps, session.run(assign_op); tf.assign alone changes nothing in a graph"
_SET_RATE = "give the variable its rate when it is made, or run an op that assigns it: session.run(rate.assign(0.001))"
_RATE = (
    "print the learning rate that the optimizer uses in a step: a schedule that divides integers, has no steps "
    "left or was given 0; else look for gradients that are all zero (tf.stop_gradient, argmax, rounding)"
)
