"""A learning rate that is 0 in every step, with the variable that holds it and the line that should set it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.ops.kinds import VARIABLE_READS
from tensorsleuth.core.ops.optimizers import rate_input
from tensorsleuth.diagnose.expressions import Expressions
from tensorsleuth.diagnose.graph.neighbours import OpNode
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.source_lines import assigned_name
from tensorsleuth.diagnose.training.loops import SESSION_PREFIX
from tensorsleuth.diagnose.training.variable_writes import WrittenVariables
from tensorsleuth.trace.process.process import ProcessTrace

SETTER = "assign"


@dataclass(frozen=True)
class ZeroRate:
    """A variable that holds a learning rate of 0."""

    name: str
    made: Frame | None
    setter: Frame | None  # the only line that makes an op to set it, if no session runs that
    is_never_set: bool  # after its initializer


def zero_rate(training_graph: TrainingGraph, written: WrittenVariables, root: int) -> ZeroRate | None:
    """Return the variable that all updates of a session take as their rate, if it is 0 in every step."""
    catalogue = training_graph.process.catalogue
    if not catalogue.functions[catalogue.instances[root].function].name.startswith(SESSION_PREFIX):
        return None  # Keras knows its own rate
    reads = list(_rate_reads(training_graph, written, root))
    rows = training_graph.output_rows(reads)
    handles = {training_graph.variable_handle(spot) for spot in reads}
    zero = bool(rows) and all(bool((part["min"] == 0).all() and (part["max"] == 0).all()) for part in rows.values())
    handle = handles.pop() if len(handles) == 1 and zero else None
    if handle is None:
        return None
    variables, made = training_graph.variables, training_graph.variables.creation_line(handle)
    name = assigned_name(training_graph.process, made)
    never = written.is_only_initialised(handle) or written.is_never_rewritten(handle)
    setters = list(_setters(training_graph.process, name)) if name is not None and never else []
    return ZeroRate(name or variables.name(handle), made, setters[0] if len(setters) == 1 else None, never)


def _rate_reads(training_graph: TrainingGraph, written: WrittenVariables, root: int) -> Iterator[OpNode]:
    for spots in written.by_functions.values():
        for spot in spots:
            slot = rate_input(spot.type)
            if slot is not None and training_graph.root_id(spot) == root:
                sources = training_graph.neighbours.input_ops(spot)
                taken = sources[slot] if slot < len(sources) else []
                yield from (one for one in taken if one.type in VARIABLE_READS)


def _setters(process: ProcessTrace, name: str) -> Iterator[Frame]:
    """Yield the lines that make an op which assigns to that name: `tf.assign(model.lr, …)`, `model.lr.assign(…)`."""
    for file in process.catalogue.sources:
        for call in process.cached(Expressions).all_calls(file):
            function = call.func
            is_setter = isinstance(function, ast.Attribute) and function.attr == SETTER
            if is_setter and name in (_leaf(getattr(function, "value", function)), *map(_leaf, call.args[:1])):
                yield Frame(file, call.lineno, process.cached(Expressions).function_at(file, call.lineno))


def _leaf(value: ast.expr) -> str:
    return value.attr if isinstance(value, ast.Attribute) else value.id if isinstance(value, ast.Name) else ""
