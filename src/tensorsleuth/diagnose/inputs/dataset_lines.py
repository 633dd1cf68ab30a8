"""The line of the program that made the dataset whose samples a call took."""

from __future__ import annotations

from collections.abc import Iterator

from tensorsleuth.core.catalog import EagerOp, Frame
from tensorsleuth.core.ops.data_ops import makes_iterator
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.trace.dataflow.dataset_pipelines import DatasetPipelines
from tensorsleuth.trace.process.process import ProcessTrace

MAX_HOPS_TO_BATCH = 4  # casts and reshapes between a batch and a call of eager code


class DatasetLines:
    """Follows the inputs of calls back to datasets. `process.cached(DatasetLines)` makes one."""

    def __init__(self, process: ProcessTrace) -> None:
        self._sites = process.catalogue.sites
        self._graphs = process.cached(TrainingGraph).call_graphs
        self._pipelines = DatasetPipelines(self._graphs)

    def of_call(self, call: int) -> Frame | None:
        """Return the line of the source, or of the dataset that is nearest to it; None if a call took no batch."""
        datasets = (op for uid in self._iterators(call, MAX_HOPS_TO_BATCH) for op in self._behind(uid))
        sites = (self._sites.get(op.site) for op in datasets)
        return next((site.frame for site in sites if site is not None and site.frame is not None), None)

    def _behind(self, iterator: int) -> Iterator[EagerOp]:
        """Yield the datasets behind an iterator, the source first."""
        yield from (op for op, _ in reversed(self._pipelines.of_batch(iterator)))

    def _iterators(self, call: int, hops: int) -> Iterator[int]:
        """Yield the iterators that a call takes, or that its inputs were taken from by earlier calls."""
        for uid in self._graphs.calls.inputs(call):
            made = self._graphs.by_uid(uid)
            if made is not None and makes_iterator(made.op):
                yield uid
            elif made is not None and made.tensor.eager is not None and hops and made.call < call:
                yield from self._iterators(made.call, hops - 1)
