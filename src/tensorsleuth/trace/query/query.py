"""The questions that a trace answers."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.core.violation import Violation
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.query.op_filter import (
    Name,
    Steps,
    Wanted,
    When,
    find_file,
    in_steps,
    number_range,
    step_range,
    wanted,
)
from tensorsleuth.trace.query.ops import ARGUMENT, Op
from tensorsleuth.trace.query.process_index import Asked
from tensorsleuth.trace.query.tensors import Part, Tensors
from tensorsleuth.trace.query.variable_use import Variable, variables_of


class Queries:
    """The queries of recorded processes. Names, types and layers are plain, or regular expressions that match."""

    processes: list[ProcessTrace]

    @cached_property
    def _asked(self) -> list[Asked]:
        return [Asked(process, number) for number, process in enumerate(self.processes)]

    @property
    def steps(self) -> list[int]:
        """The training steps that were recorded, in order."""
        return [int(step) for step in self._recorded_steps]

    @cached_property
    def _recorded_steps(self) -> Array:
        return np.unique(np.concatenate([np.empty(0, np.int64), *(asked.recorded_steps for asked in self._asked)]))

    def ops(
        self,
        type: Name | None = None,
        name: Name | None = None,
        *,
        layer: Name | None = None,
        file: str | None = None,
        line: int | None = None,
    ) -> list[Op]:
        """The ops of the program: nodes of the functions that it called, and eager ops."""
        wants = wanted(type, name, layer, file, line)
        return [op for asked in self._asked for op in asked.index.ops if op.type != ARGUMENT and wants(op)]

    def tensors(
        self,
        name: Name | None = None,
        *,
        layer: Name | None = None,
        op: Name | Op | None = None,
        step: Steps | None = None,
        epoch: int | range | None = None,
        batch: int | range | None = None,
        bad: bool | None = None,
        file: str | None = None,
        line: int | None = None,
    ) -> Tensors:
        """The tensors that were computed, oldest first.

        name: of the op, or with the number of an output, `dense/MatMul:0`. layer: scopes that its layer has in a row,
        `dense_1`, `model/dense_1`. op: a type, or one of `ops()`. step: a number (-1: the last), a range or a slice.
        epoch, batch: of a Keras model, a number or a range. bad: only those with a NaN or infinity, or only those
        without. file: a path, or the end of one.
        """
        one, type = (op, None) if isinstance(op, Op) else (None, op)
        wants = wanted(type, name, layer, file, line, one)
        steps = step_range(step, self._recorded_steps) if step is not None else None
        when = When(steps, number_range("epoch", epoch), number_range("batch", batch))
        return Tensors([Part(asked, _numbers(asked, wants, when, bad)) for asked in self._asked])

    def variables(self) -> list[Variable]:
        """The variables that the program's functions use, with the ops that read and write them."""
        return [variable for asked in self._asked for variable in variables_of(asked)]

    @property
    def violations(self) -> list[Violation]:
        """Return the broken expectations (`expect`), oldest first; of a place that broke often, some."""
        return [one for process in self.processes for one in process.catalogue.violations]

    def source(self, file: str) -> str:
        """The text of a file of the program, as it was when it ran; the end of its path will do."""
        texts = {path: text for process in self.processes for path, text in process.catalogue.sources.items()}
        return texts[find_file(texts, file)]


def asked_of(trace: Queries) -> list[Asked]:
    """The processes of a trace, made ready for questions."""
    return trace._asked


def _numbers(asked: Asked, wants: Wanted, when: When, bad: bool | None) -> Array:
    """The numbers of the events that pass every test."""
    events = asked.process.events
    keep = np.ones(len(events), bool)
    if wants.tests:
        passing = np.array([*map(wants, asked.index.ops), False], bool)  # the last is also number -1
        keep &= passing[asked.places]
    if wants.output is not None:
        firsts = np.array([*(op.first for op in asked.index.ops), 0], np.int64)
        keep &= events["tensor"] - firsts[asked.places] == wants.output
    if when.steps is not None:
        keep &= in_steps(asked.steps, when.steps)
    if when.epochs is not None:
        keep &= in_steps(asked.epochs, when.epochs)
    if when.batches is not None:
        keep &= in_steps(asked.batches, when.batches)
    if bad is not None:
        keep &= events["flags"] & (EventFlag.BAD | EventFlag.LOOKED) == EventFlag.LOOKED | EventFlag.BAD * bad
    return np.flatnonzero(keep)
