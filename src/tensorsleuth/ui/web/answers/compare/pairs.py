"""Pairs of tensors from two runs: the same output of the same op, computed for the same time."""

from __future__ import annotations

import os
from collections import Counter
from functools import cached_property

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.trace.query.ops import ARGUMENT, Op
from tensorsleuth.ui.web.answers.graph.groups import MAX_NESTING, plain_name
from tensorsleuth.ui.web.run.tensor_table import TensorTable

Key = tuple[object, ...]


class TensorPairs:
    """`here[i]` and `there[i]` are the table rows of the same tensor in both runs; `here` is ascending."""

    def __init__(self, here: TensorTable, there: TensorTable) -> None:
        self._keys = _keys(here), _keys(there)
        numbers = {key: number for number, key in enumerate(self._keys[0])}
        first = _Occurrences(here, [numbers.get(key, -1) for key in self._keys[0]])
        second = _Occurrences(there, [numbers.get(key, -1) for key in self._keys[1]])
        counts = np.minimum(first.counts(len(here.ops)), second.counts(len(here.ops)))
        here_places, there_places = first.take(counts), second.take(counts)
        order = np.argsort(here_places)
        self.here, self.there = here_places[order], there_places[order]
        self.is_complete = len(self.here) == len(first.places) == len(second.places)

    @cached_property
    def only_in_one(self) -> tuple[list[str], list[str]]:
        """Return the names of ops that only one of the runs has."""
        here, there = (dict.fromkeys(keys) for keys in self._keys)
        return [_name(key) for key in here if key not in there], [_name(key) for key in there if key not in here]


class _Occurrences:
    """The tensors of a run, grouped by op and in order. The numbers of ops are those of the first run."""

    def __init__(self, tensor_table: TensorTable, numbers: list[int]) -> None:
        in_order = (
            -1 if _runs_ahead(tensor_table, op) else number
            for op, number in zip(tensor_table.ops, numbers, strict=True)
        )
        ops = np.array([*in_order, -1], np.int32)[tensor_table.op[tensor_table.order]]
        known = ops >= 0
        places, ops = tensor_table.order[known], ops[known]
        order = _by_turn(tensor_table, places, ops)
        self.places, self._ops = places[order], ops[order]

    def counts(self, ops: int) -> Array:
        return np.bincount(self._ops, minlength=ops)

    def take(self, counts: Array) -> Array:
        """Return the first `counts` tensors of each op."""
        starts = np.concatenate([[0], np.cumsum(self.counts(len(counts)))[:-1]])
        rank = np.arange(len(self.places)) - starts[self._ops]
        return np.asarray(self.places[rank < counts[self._ops]])


def _by_turn(tensor_table: TensorTable, places: Array, ops: Array) -> Array:
    """Sort by op, call and iteration: iterations may run at once, and are recorded as they end."""
    iterations = np.where(tensor_table.eager[places], 0, tensor_table.column("iteration", places))
    if not iterations.any():
        return np.argsort(ops, kind="stable")
    first, turn = np.unique(tensor_table.column("step", places), return_index=True, return_inverse=True)[1:]
    ranks = np.empty(len(first), np.int64)
    ranks[np.argsort(first)] = np.arange(len(first))
    return np.lexsort((iterations, ranks[turn], ops))


def _runs_ahead(tensor_table: TensorTable, op: Op) -> bool:
    """Return whether an op is in a dataset's function, which runs ahead in its own threads, in no fixed order."""
    catalogue = tensor_table.process_indexes[op.process].process.catalogue
    instance = catalogue.instances.get(op.instance)
    for _ in range(MAX_NESTING):
        if instance is None or instance.parent < 0:
            break
        instance = catalogue.instances.get(instance.parent)
    return instance is not None and instance.id in catalogue.datasets


def _keys(tensor_table: TensorTable) -> list[Key]:
    """Return the identity of each op in any run of the program; a number distinguishes equal ones."""
    seen: Counter[Key] = Counter()
    keys: list[Key] = []
    for op in tensor_table.ops:
        key = _key(op)
        keys.append((*key, seen[key]))
        seen[key] += 1
    return keys


def _key(op: Op) -> Key:
    if op.graph is not None:
        name = op.name.rpartition("/")[2] if op.type == ARGUMENT else op.name
        return op.process, op.type, name, plain_name(op.graph), op.outputs
    where = f"{os.path.basename(op.file)}:{op.line}" if op.file is not None else ""
    return op.process, plain_name(op.type), where, op.layer, op.outputs


def _name(key: Key) -> str:
    """Return the name of an op for people."""
    _, kind, name, inside, *_ = key
    return f"{kind} {name}" + (f" in {inside}" if inside else "")
