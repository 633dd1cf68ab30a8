"""The history of a tensor over the whole run: many moments summarized in few points."""

from __future__ import annotations

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.ui.web.run import parameters
from tensorsleuth.ui.web.run.columns import column_values
from tensorsleuth.ui.web.run.downsampling import Downsampler, json_numbers
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Answer, Parameters

DEFAULT_POINTS = 400
MAX_POINTS = 2000


def answer(opened: OpenRun, asked: Parameters) -> Answer:
    """Return a History (web/src/api/types.ts)."""
    places = same_tensor(opened, opened.table.place(asked.get("id", "")))
    downsampler = Downsampler(len(places), parameters.integer(asked, "points", DEFAULT_POINTS, 1, MAX_POINTS))
    steps = opened.table.step[places[downsampler.lasts]]
    worst = places[downsampler.argmax(_badness(opened, places))]
    return {
        "steps": [step if step >= 0 else None for step in steps.tolist()],
        "ids": [opened.table.id(place) for place in worst.tolist()],
        "min": json_numbers(downsampler.minimum(column_values(opened.table, "min", places))),
        "max": json_numbers(downsampler.maximum(column_values(opened.table, "max", places))),
        "mean": json_numbers(downsampler.mean(column_values(opened.table, "mean", places))),
        "std": json_numbers(downsampler.mean(column_values(opened.table, "std", places))),
        "nan": downsampler.total(column_values(opened.table, "nan", places)),
        "inf": downsampler.total(
            column_values(opened.table, "neg_inf", places), column_values(opened.table, "pos_inf", places)
        ),
        "zero": downsampler.total(column_values(opened.table, "zero", places)),
        "elements": downsampler.total(column_values(opened.table, "elements", places)),
        "total": len(places),
    }


def same_tensor(opened: OpenRun, place: int) -> Array:
    """Return all tensors of the same output of the same op, oldest first."""
    table = opened.table
    if table.op[place] < 0:
        return np.array([place])
    same = np.flatnonzero((table.op == table.op[place]) & (table.kind > 0))
    if table.op_of(place).outputs > 1:
        same = same[table.column("tensor", same) == table.row(place)["tensor"]]
    return same


def _badness(opened: OpenRun, places: Array) -> Array:
    """Return the sort key: bad values come before large ones."""
    low, high = column_values(opened.table, "min", places), column_values(opened.table, "max", places)
    largest = np.nan_to_num(np.maximum(np.abs(low), np.abs(high)), nan=0.0, posinf=0.0)
    return np.where(opened.table.flags[places] & EventFlag.BAD, np.inf, largest)
