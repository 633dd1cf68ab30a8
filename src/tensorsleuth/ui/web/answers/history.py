"""The history of a tensor over the whole run: many moments summarized in few points."""

from __future__ import annotations

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.ui.web.run import parameters
from tensorsleuth.ui.web.run.columns import told
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.points import Points, plain
from tensorsleuth.ui.web.run.question import Answer, Parameters

POINTS = 400
MOST_POINTS = 2000


def answer(opened: OpenRun, asked: Parameters) -> Answer:
    """A History of types.ts."""
    places = same_tensor(opened, opened.table.place(asked.get("id", "")))
    points = Points(len(places), parameters.whole(asked, "points", POINTS, 1, MOST_POINTS))
    steps = opened.table.step[places[points.lasts]]
    worst = places[points.largest(_badness(opened, places))]
    return {
        "steps": [step if step >= 0 else None for step in steps.tolist()],
        "ids": [opened.table.id(place) for place in worst.tolist()],
        "min": plain(points.least(told(opened.table, "min", places))),
        "max": plain(points.most(told(opened.table, "max", places))),
        "mean": plain(points.mean(told(opened.table, "mean", places))),
        "std": plain(points.mean(told(opened.table, "std", places))),
        "nan": points.total(told(opened.table, "nan", places)),
        "inf": points.total(told(opened.table, "neg_inf", places), told(opened.table, "pos_inf", places)),
        "zero": points.total(told(opened.table, "zero", places)),
        "elements": points.total(told(opened.table, "elements", places)),
        "total": len(places),
    }


def same_tensor(opened: OpenRun, place: int) -> Array:
    """The places of all moments of the tensor at a place, oldest first: the same output of the same op."""
    table = opened.table
    if table.op[place] < 0:
        return np.array([place])
    same = np.flatnonzero((table.op == table.op[place]) & (table.kind > 0))
    if table.op_of(place).outputs > 1:
        same = same[table.column("tensor", same) == table.row(place)["tensor"]]
    return same


def _badness(opened: OpenRun, places: Array) -> Array:
    """Return the sort key: bad values come before large ones."""
    low, high = told(opened.table, "min", places), told(opened.table, "max", places)
    largest = np.nan_to_num(np.maximum(np.abs(low), np.abs(high)), nan=0.0, posinf=0.0)
    return np.where(opened.table.flags[places] & EventFlag.BAD, np.inf, largest)
