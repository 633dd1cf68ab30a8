"""The path of a batch, from the iterator back through the datasets to their source."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.catalog import EagerOp, Instance
from tensorsleuth.core.ops.data_ops import MAPPING_DATASETS, TENSOR_DATASETS, UNCHANGED_DATASETS
from tensorsleuth.core.ops.kinds import is_dataset
from tensorsleuth.trace.dataflow.call_graph import CallGraphs
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor

MAX_DATASETS = 100


class DatasetPipelines:
    """The datasets of a process."""

    def __init__(self, call_graphs: CallGraphs) -> None:
        self._call_graphs = call_graphs
        self._calls = call_graphs.calls

    def of_batch(self, iterator: int) -> list[tuple[EagerOp, int]]:
        """Return the datasets behind an iterator, each with the call that made it, the source last."""
        for call in self._calls.consumers(iterator):
            op = self._calls.op(call)
            if op is not None and op.type == "MakeIterator":
                return list(self.upstream_datasets(self._calls.inputs(call)[:1]))
        return []

    def of_function(self, instance: Instance) -> list[tuple[EagerOp, int]]:
        """Return the datasets that feed the dataset that runs a function."""
        catalogue = self._call_graphs.process.catalogue
        root: Instance | None = instance
        while root is not None and root.parent >= 0:
            root = catalogue.instances.get(root.parent)
        known = catalogue.datasets.get(root.id) if root is not None else None
        ops = [op.id for op in catalogue.eager.values() if (op.type, op.site) == known]
        rows = self._call_graphs.process.calls
        calls = rows[np.isin(rows["op"], ops)]["call"].tolist() if ops else []
        return list(self.upstream_datasets([uid for call in calls for uid in self._calls.inputs(int(call))]))

    def components(self, datasets: list[tuple[EagerOp, int]]) -> int | None:
        """Return how many tensors an element of the first of some datasets has, if that was recorded."""
        catalogue = self._call_graphs.process.catalogue
        for op, call in datasets:
            if op.type in TENSOR_DATASETS:
                return len(self._calls.inputs(call))
            roots = [root for root, made in catalogue.datasets.items() if made == (op.type, op.site)]
            known = {len(catalogue.functions[catalogue.instances[root].function].returns) for root in roots}
            if op.type in MAPPING_DATASETS:
                return known.pop() if len(known) == 1 else None
            if op.type not in UNCHANGED_DATASETS:
                return None
        return None

    def source_tensors(self, datasets: list[tuple[EagerOp, int]]) -> Iterator[ObservedTensor]:
        """Return the tensors that datasets were made from."""
        for _, call in datasets:
            for uid in self._calls.inputs(call):
                made = self._call_graphs.by_uid(uid)
                if made is not None and not is_dataset(made.op):
                    yield made

    def upstream_datasets(self, uids: list[int]) -> Iterator[tuple[EagerOp, int]]:
        todo = list(uids)
        for _ in range(MAX_DATASETS):
            made = self._call_graphs.by_uid(todo.pop(0)) if todo else None
            if made is not None and made.tensor.eager is not None and is_dataset(made.op):
                yield made.tensor.eager, made.call
                todo += self._calls.inputs(made.call)
