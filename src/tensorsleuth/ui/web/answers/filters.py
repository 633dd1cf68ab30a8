"""The filters of a list of tensors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.trace.query.ops import Op
from tensorsleuth.ui.web.run import parameters
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Parameters
from tensorsleuth.ui.web.run.tensor_table import TensorTable

HEALTH_FILTERS = ("bad", "nan", "inf", "zero", "healthy")
_OUTPUT = re.compile(r"(.*):(\d{1,6})")
Test = Callable[[Op], object]


def select(opened: OpenRun, asked: Parameters) -> Array:
    """Return the tensors that pass every test, oldest first."""
    table, places = opened.table, opened.table.order
    tests = list(_tests(opened, asked))
    if tests:
        passing = np.array([*(all(test(op) for test in tests) for op in table.ops), False], bool)  # the last: number -1
        places = places[passing[table.op[places]]]
    for keep in (_steps, _health, _eager, _output):
        places = keep(table, places, asked)
    return places


def _tests(opened: OpenRun, asked: Parameters) -> Iterator[Test]:
    """Yield the conditions on a tensor's op."""
    name, kind, layer = (parameters.text(asked, field) for field in ("name", "op", "layer"))
    graph, file, line = parameters.text(asked, "graph"), asked.get("file"), parameters.optional_integer(asked, "line")
    if name:
        by_name = parameters.pattern(_split(name)[0], ignore_case=True)
        yield lambda op: by_name.search(op.name)
    if kind:
        by_type = parameters.pattern(kind)
        yield lambda op: by_type.fullmatch(op.type)
    if layer:
        by_layer = parameters.pattern(layer, ignore_case=True)
        yield lambda op: op.layer is not None and by_layer.search(op.layer)
    if graph:
        yield lambda op: op.graph == graph
    if file:
        path = opened.sources.paths[opened.sources.text(file)[0]]
        yield lambda op: op.file == path
    if line is not None:
        yield lambda op: op.line == line


def _split(name: str) -> tuple[str, int | None]:
    """Split a name into the op's name and the number of the output."""
    found = _OUTPUT.fullmatch(name)
    return (found[1], int(found[2])) if found is not None else (name, None)


def _output(tensor_table: TensorTable, places: Array, asked: Parameters) -> Array:
    output = _split(asked.get("name", ""))[1]
    if output is None:
        return places
    firsts = np.array([*(op.first_tensor for op in tensor_table.ops), 0], np.int64)
    here: Array = tensor_table.column("tensor", places) - firsts[tensor_table.op[places]] == output
    return places[here]


def _steps(tensor_table: TensorTable, places: Array, asked: Parameters) -> Array:
    first, last = parameters.optional_integer(asked, "from"), parameters.optional_integer(asked, "to")
    if first is None and last is None:
        return places
    steps = tensor_table.step[places]
    keep = steps >= max(first or 0, 0)
    return places[keep & (steps <= last) if last is not None else keep]


def _eager(tensor_table: TensorTable, places: Array, asked: Parameters) -> Array:
    eager = parameters.boolean(asked, "eager")
    return places if eager is None else places[tensor_table.eager[places] == eager]


def _health(tensor_table: TensorTable, places: Array, asked: Parameters) -> Array:
    which = parameters.one_of(asked, "health", HEALTH_FILTERS, "")
    if not which:
        return places
    flags = tensor_table.flags[places]
    if which == "healthy":
        return np.asarray(places[flags & (EventFlag.BAD | EventFlag.LOOKED) == EventFlag.LOOKED])
    if which == "zero":
        return np.asarray(places[(flags & EventFlag.RANGED != 0) & (tensor_table.column("zero", places) > 0)])
    bad: Array = places[flags & EventFlag.BAD != 0]
    return bad if which == "bad" else bad[holds_kind(tensor_table, bad, which)]


def holds_kind(tensor_table: TensorTable, bad: Array, kind: str) -> Array:
    """Return which bad tensors hold a NaN, or an infinity; if the mode did not count, they may hold either."""
    names = {"nan": ("nan",), "inf": ("neg_inf", "pos_inf")}.get(kind, (kind,))
    counted = tensor_table.flags[bad] & EventFlag.COUNTED != 0
    found = np.logical_or.reduce([tensor_table.column(name, bad) > 0 for name in names])
    return np.asarray(found | ~counted)
