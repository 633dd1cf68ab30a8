"""Samples that a model is validated with, and trained on: what is measured is memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.diagnose.given import Given
from tensorsleuth.diagnose.habit import Habit
from tensorsleuth.diagnose.parts import Part, called
from tensorsleuth.diagnose.token_looks import Sequences, sequences_of
from tensorsleuth.model.catalog import Frame
from tensorsleuth.model.rows import CallKind
from tensorsleuth.trace.inside import Inside
from tensorsleuth.trace.process import ProcessTrace
from tensorsleuth.trace.ring_reader import Array
from tensorsleuth.trace.watched import WatchedSeries

LEAST_SHARED, LEAST_SHARE = 4, 0.05  # rows that are the same, and of those of validation that were looked at
SHORTEST = 4  # tokens: shorter rows are the same by chance
BY_CHANCE = 0.02  # of the rows of one batch that may be there twice, for rows to tell anything


def find(process: ProcessTrace) -> Iterator[Habit]:
    inside = process.once(Inside)
    held_out = {called(one.name): one for one in inside.evaluation.inputs}
    if not held_out or not any(one.trains for one in inside.inputs):
        return
    given = process.once(Given)
    for one in sequences_of(given):
        if one.name in held_out:
            rows = Part(held_out[one.name], one.lookup.ids.cut).values()
            steps = _of_fit(process, held_out[one.name], given.entry(one.lookup.spot))
            yield from _judged(given, one, [ids for step, ids in rows.items() if step in steps])


def _of_fit(process: ProcessTrace, series: WatchedSeries, entry: Frame | None) -> set[int]:
    """The steps at which the line that trains also validated: to evaluate training data on its own may be meant."""
    calls = process.calls[process.calls["kind"] == CallKind.FUNCTION]
    found = set()
    for row in series.rows:
        before = calls[calls["time"] <= row["time"]]
        op = process.catalogue.eager.get(int(before["op"][np.argmax(before["time"])])) if len(before) else None
        site = process.catalogue.sites.get(op.site) if op is not None else None
        if site is not None and site.frame == entry:
            found.add(int(row["step"]))
    return found


def _judged(given: Given, one: Sequences, batches: list[Array]) -> Iterator[Habit]:
    trained = [row for ids in one.at.values() for row in _rows(ids, one.padding)]
    measured = {row for ids in batches if ids.ndim == 2 for row in _rows(ids, one.padding)}
    if _repeats(one) > BY_CHANCE or not measured:
        return
    shared = measured & set(trained)
    if len(shared) >= LEAST_SHARED and len(shared) >= LEAST_SHARE * len(measured):
        yield _habit(given, one, len(shared), len(measured), len(set(trained)))


def _rows(ids: Array, pad: int | None) -> list[tuple[int, ...]]:
    """Without padding; those that are too short left out."""
    rows = [tuple(int(token) for token in row if token != pad) for row in ids.tolist()]
    return [row for row in rows if len(row) >= SHORTEST]


def _repeats(one: Sequences) -> float:
    """How many rows of a batch are there twice: data with few different rows shares them by chance."""
    shares = [1 - len(np.unique(ids, axis=0)) / len(ids) for ids in one.at.values()]
    return float(np.mean(shares)) if shares else 0.0


def _habit(given: Given, one: Sequences, shared: int, measured: int, trained: int) -> Habit:
    why = (
        f"validates with samples that it trains on: {shared:,} of the {measured:,} rows of validation that were looked "
        f"at are among {trained:,} rows of training ({one.name}), so that what is measured is memory, "
        "not what was learned"
    )
    place = given.entry(one.lookup.spot), "validation", 0.0, False, None, ()
    return Habit("overlap", 0.9, why, _APART, *place, is_wrong=True)


_APART = (
    "split the data once, before it is repeated, augmented or shuffled anew: train, held = data[:n], data[n:]; drop "
    "rows that are there twice first"
)
