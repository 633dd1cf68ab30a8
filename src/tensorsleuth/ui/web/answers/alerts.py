"""Bad tensors by kind, and the next one after each."""

from __future__ import annotations

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.ui.web.answers.failures import failed_places
from tensorsleuth.ui.web.answers.filters import holds_kind
from tensorsleuth.ui.web.answers.rows import tensor_rows
from tensorsleuth.ui.web.run import parameters
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Answer, Parameters
from tensorsleuth.ui.web.run.violations import broken_rules, violated_places, violation_json

KINDS = ("nan", "neg_inf", "pos_inf", "violation", "error")


def answer(opened: OpenRun, asked: Parameters) -> Answer:
    """Return the Alerts (web/src/api/types.ts)."""
    places = alerts_of_kind(opened, parameters.one_of(asked, "kind", KINDS, ""))
    begin, end = parameters.page(asked, len(places))
    found = [(kind, alerts_of_kind(opened, kind)) for kind in KINDS]
    counts = [
        {"kind": kind, "count": len(some), "first": opened.table.id(int(some[0]))} for kind, some in found if len(some)
    ]
    items = tensor_rows(opened, places[begin:end])
    rules = [violation_json(opened, one) for one in broken_rules(opened)]
    return {"begin": begin, "end": end, "total": len(places), "items": items, "counts": counts, "violations": rules}


def answer_next(opened: OpenRun, asked: Parameters) -> Answer:
    """Return the alert after or before a tensor; without a tensor, the first or the last."""
    places = alerts_of_kind(opened, parameters.one_of(asked, "kind", KINDS, ""))
    forward = parameters.one_of(asked, "direction", ("next", "previous"), "next") == "next"
    found = _beyond(opened, places, asked["id"], forward) if asked.get("id") else places
    return {"id": opened.table.id(int(found[0 if forward else -1])) if len(found) else None}


def _beyond(opened: OpenRun, places: Array, id: str, forward: bool) -> Array:
    """Return those of some bad tensors that come after a tensor, or before it."""
    order, here = opened.table.order, opened.table.place(id)
    ranks = np.empty(len(opened.table), np.int32)
    ranks[order] = np.arange(len(order), dtype=np.int32)
    return np.asarray(places[ranks[places] > ranks[here]] if forward else places[ranks[places] < ranks[here]])


def alerts_of_kind(opened: OpenRun, kind: str) -> Array:
    """Return the table rows of alerts, oldest first, of one kind or of any."""
    return opened.cache(f"alerts {kind}", None, lambda: _find_alerts(opened, kind))


def _find_alerts(opened: OpenRun, kind: str) -> Array:
    bad = opened.table.bad
    if kind == "violation":
        return violated_places(opened)
    if kind == "error":
        return failed_places(opened)
    return bad[holds_kind(opened.table, bad, kind)] if kind else bad
