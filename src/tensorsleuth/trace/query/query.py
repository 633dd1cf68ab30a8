"""The queries of a trace."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.core.violation import Violation
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.query.op_filter import (
    NamePattern,
    OpFilter,
    StepSelector,
    TimeFilter,
    find_file,
    in_steps,
    make_op_filter,
    number_range,
    step_range,
)
from tensorsleuth.trace.query.ops import ARGUMENT, Op
from tensorsleuth.trace.query.process_index import ProcessIndex
from tensorsleuth.trace.query.tensors import ProcessSelection, Tensors
from tensorsleuth.trace.query.variable_use import Variable, variables_of


class Queries:
    """The queries of a trace. Names, types and layers are given literally or as regular expressions."""

    processes: list[ProcessTrace]

    @cached_property
    def _process_indexes(self) -> list[ProcessIndex]:
        return [ProcessIndex(process, number) for number, process in enumerate(self.processes)]

    @property
    def steps(self) -> list[int]:
        """Return the recorded training steps, in order."""
        return [int(step) for step in self._recorded_steps]

    @cached_property
    def _recorded_steps(self) -> Array:
        return np.unique(
            np.concatenate([np.empty(0, np.int64), *(asked.recorded_steps for asked in self._process_indexes)])
        )

    def ops(
        self,
        type: NamePattern | None = None,
        name: NamePattern | None = None,
        *,
        layer: NamePattern | None = None,
        file: str | None = None,
        line: int | None = None,
    ) -> list[Op]:
        """Return the ops of the program: nodes of the functions that it called, and eager ops."""
        wants = make_op_filter(type, name, layer, file, line)
        return [op for asked in self._process_indexes for op in asked.op_index.ops if op.type != ARGUMENT and wants(op)]

    def tensors(
        self,
        name: NamePattern | None = None,
        *,
        layer: NamePattern | None = None,
        op: NamePattern | Op | None = None,
        step: StepSelector | None = None,
        epoch: int | range | None = None,
        batch: int | range | None = None,
        bad: bool | None = None,
        file: str | None = None,
        line: int | None = None,
    ) -> Tensors:
        """Return the tensors that were computed, oldest first.

        name: of the op, or with the number of an output, `dense/MatMul:0`. layer: consecutive scopes of its layer,
        `dense_1`, `model/dense_1`. op: a type, or one of `ops()`. step: a number (-1: the last), a range or a slice.
        epoch, batch: of a Keras model, a number or a range. bad: only those with a NaN or infinity, or only those
        without. file: a path, or the end of one.
        """
        one, type = (op, None) if isinstance(op, Op) else (None, op)
        wants = make_op_filter(type, name, layer, file, line, one)
        steps = step_range(step, self._recorded_steps) if step is not None else None
        time_filter = TimeFilter(steps, number_range("epoch", epoch), number_range("batch", batch))
        return Tensors(
            [
                ProcessSelection(asked, _selected_events(asked, wants, time_filter, bad))
                for asked in self._process_indexes
            ]
        )

    def variables(self) -> list[Variable]:
        """Return the variables that the program's functions use, with the ops that read and write them."""
        return [variable for asked in self._process_indexes for variable in variables_of(asked)]

    @property
    def violations(self) -> list[Violation]:
        """Return the broken expectations (`expect`), oldest first, but only some of a place that broke often."""
        return [one for process in self.processes for one in process.catalogue.violations]

    def source(self, file: str) -> str:
        """Return the text of a source file of the program as it was during the run; the end of its path is enough."""
        texts = {path: text for process in self.processes for path, text in process.catalogue.sources.items()}
        return texts[find_file(texts, file)]


def process_indexes(trace: Queries) -> list[ProcessIndex]:
    """Return the indexes of a trace's processes."""
    return trace._process_indexes


def _selected_events(process_index: ProcessIndex, wants: OpFilter, time_filter: TimeFilter, bad: bool | None) -> Array:
    """Return the numbers of the events that pass every test."""
    events = process_index.process.events
    keep = np.ones(len(events), bool)
    if wants.tests:
        passing = np.array([*map(wants, process_index.op_index.ops), False], bool)  # the last: op number -1
        keep &= passing[process_index.op_numbers]
    if wants.output is not None:
        firsts = np.array([*(op.first_tensor for op in process_index.op_index.ops), 0], np.int64)
        keep &= events["tensor"] - firsts[process_index.op_numbers] == wants.output
    if time_filter.steps is not None:
        keep &= in_steps(process_index.steps, time_filter.steps)
    if time_filter.epochs is not None:
        keep &= in_steps(process_index.epochs, time_filter.epochs)
    if time_filter.batches is not None:
        keep &= in_steps(process_index.batches, time_filter.batches)
    if bad is not None:
        keep &= events["flags"] & (EventFlag.BAD | EventFlag.LOOKED) == EventFlag.LOOKED | EventFlag.BAD * bad
    return np.flatnonzero(keep)
