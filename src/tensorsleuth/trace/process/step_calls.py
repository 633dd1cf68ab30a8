"""Matches the step ids of TensorFlow's executor with the calls that Python made."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Catalogue, Instance
from tensorsleuth.core.layout.rows import CallKind, EventKind
from tensorsleuth.core.ops.kinds import is_dataset

MAX_NESTING = 100  # a hostile catalogue may contain a cycle
MAX_LAST_EVENTS = 100_000  # searched for those of a call that was cut short


class StepCalls:
    """The call of each of TensorFlow's step ids. Rows are read only when a step is looked up."""

    def __init__(
        self,
        catalogue: Catalogue,
        calls: Callable[[], Array],
        events: Callable[[], Array],
        instance_of: Callable[[int], Instance | None],
    ) -> None:
        self._catalogue = catalogue
        self._calls = calls
        self._events = events
        self._instance_of = instance_of  # from a tensor id to its instance

    @cached_property
    def call_of_tf_step(self) -> dict[int, int]:
        """Map each of TensorFlow's step ids to the number of its call."""
        calls = self._calls()
        joins = calls[calls["kind"] == CallKind.JOIN]
        joined = dict(zip(joins["tf_step"].tolist(), joins["call"].tolist(), strict=True))
        return joined | self._unfinished_steps(joined) | self.dataset_steps

    @cached_property
    def dataset_steps(self) -> dict[int, int]:
        """Map each step id under which a function's dataset ran its own functions to the call of that function."""
        nested = {one.id for one in self._catalogue.instances.values() if self.is_run_by_dataset(one)}
        if not nested:
            return {}
        events = self._events()
        events = events[events["kind"] == EventKind.GRAPH]
        steps, first = np.unique(events["step"], return_index=True)
        found: dict[int, int] = {}
        windows: dict[int | None, Array] = {}
        for step, row in zip(steps.tolist(), events[first]):
            if self.dataset_function(row) not in nested:
                continue
            root = self._root(int(row["tensor"]))
            if root not in windows:
                windows[root] = self._calls_of(root)
            begun = windows[root][windows[root]["time"] <= row["time"]]
            if len(begun):
                found[step] = int(begun["call"][-1])
        return found

    def dataset_function(self, row: Any) -> int | None:
        """Return the instance of the dataset's function that computed a row, if the dataset is inside a function."""
        instance = self._instance_of(row["tensor"])
        for _ in range(MAX_NESTING):
            if instance is None or self.is_run_by_dataset(instance):
                break
            instance = self._catalogue.instances.get(instance.parent)
        return instance.id if instance is not None else None

    def is_run_by_dataset(self, instance: Instance) -> bool:
        """Return whether a dataset inside a function runs it."""
        parent = self._catalogue.instances.get(instance.parent)
        function = self._catalogue.functions.get(parent.function) if parent is not None else None
        at = instance.node
        return function is not None and 0 <= at < len(function.nodes) and is_dataset(function.nodes[at].type)

    def _calls_of(self, root: int | None) -> Array:
        """Return the rows of an instance's calls, oldest first."""
        ops = [op.id for op in self._catalogue.eager.values() if root is not None and op.instance == root]
        calls = self._calls()
        wanted: Array = (calls["kind"] == CallKind.FUNCTION) & np.isin(calls["op"], ops)
        return np.asarray(calls[wanted])

    def _unfinished_steps(self, joined: dict[int, int]) -> dict[int, int]:
        """Return step ids for the calls that were running when the program died, which may have none yet."""
        last = self._events()[-MAX_LAST_EVENTS:]
        last = last[last["kind"] == EventKind.GRAPH]
        steps, first = np.unique(last["step"], return_index=True)
        open_steps = [(step, row) for step, row in zip(steps.tolist(), first) if step and step not in joined]
        tensors = last["tensor"][[row for _, row in open_steps]].tolist()
        roots = {tensor: self._root(tensor) for tensor in set(tensors)}
        known = {root: self._open_call(root, joined) for root in set(roots.values())}
        calls = ((step, known[roots[tensor]]) for (step, _), tensor in zip(open_steps, tensors))
        return {step: call for step, call in calls if call is not None}

    def _root(self, number: int) -> int | None:
        """Return the instance, called by Python or a dataset, in which a tensor was computed."""
        instance = self._instance_of(number)
        for _ in range(MAX_NESTING):
            if instance is None or instance.parent < 0:
                break
            instance = self._catalogue.instances.get(instance.parent)
        return instance.id if instance is not None else None

    def _open_call(self, root: int | None, joined: dict[int, int]) -> int | None:
        """Return the last call of an instance, if no step belongs to it yet."""
        calls = self._calls_of(root)["call"]
        return int(calls[-1]) if len(calls) and int(calls[-1]) not in joined.values() else None
