"""A Keras model that is fit while all of its weights are frozen, as by `trainable = False` before `compile`."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from tensorsleuth.core.catalog import Frame, Instance
from tensorsleuth.diagnose.expressions import Expressions
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.health_words import pluralise
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, merge_same_line, text_evidence
from tensorsleuth.diagnose.training.loops import TrainingLoops
from tensorsleuth.diagnose.training.variable_writes import WrittenVariables
from tensorsleuth.trace.process.process import ProcessTrace

FEWEST_STEPS = 10
MOST_SHOWN = 4
FITS = ("fit", "train_on_batch")


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    yield from merge_same_line(_all(process))


def _all(process: ProcessTrace) -> Iterator[RuleFinding]:
    training = process.cached(TrainingGraph)
    written = WrittenVariables(training)
    asked = {handle for loop in process.cached(TrainingLoops).all for handle in loop.variables}  # gradients exist
    for line, instances in _fits(process).items():
        weights = {handle for one in instances for handle in _weights(process, one)}
        steps = max(training.call_count(one.id) for one in instances)
        still = bool(weights) and weights.isdisjoint(asked) and all(written.is_never_rewritten(one) for one in weights)
        if still and steps >= FEWEST_STEPS and any(written.starts_at_random(one) for one in weights):
            yield _finding(training, line, sorted(weights), steps)


RULE = Rule(
    id="model-frozen",
    severity=Severity.WRONG,
    find=find,
    supersedes=("step-length", "not-in-optimizer", "flat-loss", "chance-loss", "predictions-collapsed", "loss-rose"),
)


def _fits(process: ProcessTrace) -> dict[Frame, list[Instance]]:
    """Return the functions that lines which fit a model call, by line: those of training and of validation."""
    found: dict[Frame, list[Instance]] = defaultdict(list)
    catalogue = process.catalogue
    for op in catalogue.eager.values():
        site = catalogue.sites.get(op.site)
        line = site.frame if site is not None else None
        if op.instance in catalogue.instances and line is not None and _models(process, line):
            found[line].append(catalogue.instances[op.instance])
    return found


def _models(process: ProcessTrace, line: Frame) -> set[str]:
    """Return the expressions of the models that a line fits."""
    calls = (one.func for one in process.cached(Expressions).calls(line))
    return {ast.unparse(one.value) for one in calls if isinstance(one, ast.Attribute) and one.attr in FITS}


def _weights(process: ProcessTrace, instance: Instance) -> Iterator[int]:
    """Yield the variables of a function that are no single number, as those of metrics and counters are."""
    for one in process.catalogue.functions[instance.function].captures.values():
        if one.get("uid") is not None and one.get("shape"):
            yield int(one["uid"])


def _freezing_lines(process: ProcessTrace, line: Frame) -> tuple[Frame, int] | None:
    """Return the line that freezes the model, and the line below it that compiles it; None if they are not sure."""
    expressions, models = process.cached(Expressions), _models(process, line)
    if len(models) != 1:
        return None
    (model,) = models
    compiled = [one.lineno for one in expressions.all_calls(line.file) if _is_method(one.func, model, "compile")]
    frozen = [one.lineno for one in expressions.assignments(line.file) if _freezes(one, model)]
    before = [one for one in frozen if compiled and one < compiled[0]]
    if len(before) != 1 or len(compiled) != 1:
        return None
    return Frame(line.file, before[0], expressions.function_at(line.file, before[0])), compiled[0]


def _is_method(function: ast.expr, model: str, name: str) -> bool:
    return isinstance(function, ast.Attribute) and function.attr == name and ast.unparse(function.value) == model


def _freezes(assignment: ast.Assign, model: str) -> bool:
    is_false = isinstance(assignment.value, ast.Constant) and assignment.value.value is False
    return is_false and any(_is_method(one, model, "trainable") for one in assignment.targets)


def _finding(training_graph: TrainingGraph, line: Frame, weights: list[int], steps: int) -> RuleFinding:
    names = [training_graph.variables.name(one) for one in weights]
    what, many = pluralise(len(names), "variable"), pluralise(steps, "step")
    known = _freezing_lines(training_graph.process, line)
    still = f"in {many} nothing wrote any of its {what}, `{names[0]}` first, and they keep their random first values"
    why = (
        f"freezes the model before line {known[1]} compiles it, and line {line.line} fits it: {still}"
        if known is not None
        else f"fits a model that has nothing to train: {still}"
    )
    evidence = [
        text_evidence("also", name, "never written", training_graph.variables.creation_line(handle))
        for name, handle in list(zip(names, weights, strict=True))[:MOST_SHOWN]
    ]
    if known is not None:
        evidence.insert(0, text_evidence("also", "fit", f"called {steps:,} times", line))
    return RuleFinding(
        confidence=0.93 if known is not None else 0.8,
        why=why,
        fix=_COMPILE_FIRST,
        frame=known[0] if known is not None else line,
        op="compile",
        evidence=tuple(evidence),
        step=0,
    )


_COMPILE_FIRST = (
    "compile the model first, and set trainable = False after that, before the combined model is compiled: Keras takes "
    "the weights to train when it compiles (Keras 3: when it fits; set trainable = True again before this model is fit)"
)
