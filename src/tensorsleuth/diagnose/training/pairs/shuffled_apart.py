"""Inputs and labels from two datasets that are shuffled apart and zipped: no input keeps its own label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from tensorsleuth.core.catalog import EagerOp, Frame
from tensorsleuth.core.finding import Basis
from tensorsleuth.core.ops.data_ops import JOINING_DATASETS, SHUFFLING_DATASETS, ZIPPING_DATASETS
from tensorsleuth.diagnose.expressions import Expressions
from tensorsleuth.diagnose.graph.training_graph import TrainingGraph
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.diagnose.training.samples.batch_inputs import BatchInput, BatchInputs
from tensorsleuth.trace.dataflow.dataset_pipelines import DatasetPipelines
from tensorsleuth.trace.process.process import ProcessTrace

SEED, RESHUFFLE = "seed=", "reshuffle_each_iteration="
SEED_PLACE = 1  # of the argument of `shuffle`


@dataclass(frozen=True)
class Shuffle:
    """A dataset that was shuffled, as the program wrote it."""

    call: int
    frame: Frame
    arguments: tuple[str, ...]

    @property
    def is_seeded(self) -> bool:
        named = any(one.startswith(SEED) and one != f"{SEED}None" for one in self.arguments)
        return named or (len(self.arguments) > SEED_PLACE and "=" not in self.arguments[SEED_PLACE])

    @property
    def may_repeat(self) -> bool:
        """Return whether every pass may have the same order."""
        written = [one.removeprefix(RESHUFFLE) for one in self.arguments if one.startswith(RESHUFFLE)]
        return any(one not in ("True", "None") for one in written)


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    zips = [op for op in process.catalogue.eager.values() if op.type in ZIPPING_DATASETS]
    roles = _roles(process.cached(BatchInputs)) if zips else []
    for op in zips:
        apart = (pair for branches in _branches(process, op) for pair in _pairs(branches, roles) if _are_apart(*pair))
        yield from (_finding(*pair) for pair in islice(apart, 1))


RULE = Rule(
    id="shuffled-apart",
    severity=Severity.WRONG,
    find=find,
    basis=Basis.GRAPH,
    supersedes=("step-length", "chance-loss", "predictions-collapsed", "overfitting", "class-never-predicted"),
)


def _pairs(
    branches: list[list[Shuffle] | None], roles: list[tuple[int, int, int]]
) -> Iterator[tuple[list[Shuffle], list[Shuffle]]]:
    """Yield the shuffles of the inputs with those of their labels."""
    for part, label, count in roles:
        if count == len(branches):
            inputs, labels = branches[part], branches[label]
            if inputs is not None and labels is not None:
                yield inputs, labels


def _roles(batch_inputs: BatchInputs) -> list[tuple[int, int, int]]:
    """Return each part of an element that layers take with each that only a loss takes, and the number of parts.

    Pictures of two kinds that go through models, as in a CycleGAN, belong to each other in no order.
    """
    varied = [one for one in batch_inputs.labels if one.numbers.min.min() < one.numbers.max.max()]
    features, labels = _parts(batch_inputs.features), _parts(varied)
    return [
        (part, label, count)
        for part, count in features
        for label, other in labels - features
        if part != label and count == other
    ]


def _parts(several: list[BatchInput]) -> set[tuple[int, int]]:
    return {one.part for one in several if one.part is not None}


def _branches(process: ProcessTrace, op: EagerOp) -> Iterator[list[list[Shuffle] | None]]:
    """Yield the shuffles of each dataset that was zipped; None of one whose order is not known, or that has pairs.

    Pairs of pictures and labels that are zipped with others belong to each other in no order, as in mixup.
    """
    graphs = process.cached(TrainingGraph).call_graphs
    pipelines = DatasetPipelines(graphs)
    for call in process.calls["call"][process.calls["op"] == op.id].astype(np.int64).tolist():
        parts = [list(pipelines.upstream_datasets([uid])) for uid in graphs.calls.inputs(call)]
        yield [_shuffles(process, part) if pipelines.components(part) == 1 else None for part in parts]


def _shuffles(process: ProcessTrace, datasets: list[tuple[EagerOp, int]]) -> list[Shuffle] | None:
    if not datasets or any(op.type in JOINING_DATASETS for op, _ in datasets):
        return None
    found = []
    for op, call in datasets:
        if op.type in SHUFFLING_DATASETS:
            site = process.catalogue.sites.get(op.site)
            frame = site.frame if site is not None else None
            written = process.cached(Expressions).method_calls(frame, "shuffle") if frame is not None else []
            if frame is None or len({tuple(one) for one in written}) != 1 or _is_open(written[0]):
                return None  # Keras shuffled it, or one line has several
            found.append(Shuffle(call, frame, tuple(written[0])))
    return found


def _is_open(arguments: list[str]) -> bool:
    """Return whether there may be a seed among them: `*arguments`, `**named`."""
    return any(one.startswith(("*", "None=")) for one in arguments)


def _are_apart(inputs: list[Shuffle], labels: list[Shuffle]) -> bool:
    """Return whether they have different orders for sure."""
    if len(inputs) != len(labels):
        return not (inputs and labels)
    return any(_differ(one, other) for one, other in zip(inputs, labels, strict=True))


def _differ(one: Shuffle, other: Shuffle) -> bool:
    """Return whether two shuffles have different orders; two passes over one have, unless it repeats its order."""
    if one.call == other.call:
        return not one.may_repeat
    return not one.is_seeded or not other.is_seeded


def _finding(inputs: list[Shuffle], labels: list[Shuffle]) -> RuleFinding:
    shuffle = (labels or inputs)[0]
    lines = sorted({one.frame.line for one in (*inputs, *labels)})
    how = (
        "by themselves"
        if inputs and labels
        else "while the labels keep their order"
        if inputs
        else "while the inputs keep theirs"
    )
    what = "labels and inputs" if inputs and labels else "the inputs" if inputs else "the labels"
    why = (
        f"shuffles {what} {how} before both are zipped (line{'s' if len(lines) > 1 else ''} "
        f"{', '.join(map(str, lines))}): each input gets the label of another, so there is nothing to learn but chance"
    )
    evidence = tuple(
        text_evidence("also", role, f"shuffle({', '.join(several[0].arguments)})" if several else "not shuffled")
        for role, several in (("inputs", inputs), ("labels", labels))
    )
    return RuleFinding(
        confidence=0.93, why=why, fix=_ZIP_FIRST, frame=shuffle.frame, op="ShuffleDataset", step=0, evidence=evidence
    )


_ZIP_FIRST = "zip first, then shuffle the pairs: tf.data.Dataset.zip((inputs, labels)).shuffle(n)"
