"""Attention: which there is, how each head went over the steps, and what is remarkable about them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorsleuth.analyze.layers.no_stats import why_nothing
from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Frame
from tensorsleuth.diagnose.attention.remarks import lines_of, remarks_of
from tensorsleuth.trace.series.attention import Attention
from tensorsleuth.trace.series.layer_stats import Inside
from tensorsleuth.trace.series.watched import WatchedSeries
from tensorsleuth.ui.web.answers.attention.locations import place_of
from tensorsleuth.ui.web.answers.attention.stats import Seen, seen, series_of
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.points import plain
from tensorsleuth.ui.web.run.question import Answer, Parameters

LOOKS = 100  # points of a line
LINES = 32  # heads, as many as there are weights of
CHARTED = ("entropy", "distance", "sink")
MOST = 500  # attentions in the list
REMARKS = 100


def answer_there(opened: OpenRun, asked: Parameters) -> Answer:
    """The Inside of inside.ts: which panels have something to show."""
    inside = seen(opened).inside
    layers = sum(len(inside.of(kind)) for kind in ("output", "gradient", "update"))
    return {"attention": len(inside.of("attention")), "layers": layers}


def answer(opened: OpenRun, asked: Parameters) -> Answer:
    """The AttentionList of inside.ts."""
    found = seen(opened)
    series = found.inside.of("attention")
    return {
        "items": opened.keep("attention", None, lambda: _items(opened, found, series[:MOST])),
        "leftOut": max(len(series) - MOST, 0),
        "remarks": opened.keep("remarks", None, lambda: _remarks(found)),
        "why": None if series else why_nothing(opened.trace, found.inside, "attention"),
    }


def _items(opened: OpenRun, found: Seen, series: list[WatchedSeries]) -> list[dict[str, Any]]:
    lines = lines_of(Inside(found.inside.process))
    return [_item(opened, found, one, lines.get(one.name)) for one in series]


def _remarks(found: Seen) -> list[dict[str, Any]]:
    """Return the remarks of `sleuth attention`. It reads every sample; its own Inside is dropped with all of that."""
    own = Inside(found.inside.process)
    names = ("what", "severity", "layer", "who", "words")
    told = remarks_of(own)[:REMARKS]
    return [{name: getattr(one, name) for name in names} | {"heads": list(one.heads)} for one in told]


def _item(opened: OpenRun, found: Seen, series: WatchedSeries, line: Frame | None) -> dict[str, Any]:
    own = opened.sources.place(line.file, line.line, line.function) if line is not None else None
    one = Attention(series)  # one of its own: what it reads of each look is let go with it
    kept = next((look for look in map(one.kept, range(len(one) - 1, -1, -1)) if look is not None), None)
    return {
        "id": found.id(series),
        "name": one.name,
        "by": one.by,
        "heads": kept.heads if kept else 0,
        "shown": kept.weights.shape[1] if kept else 0,
        "samples": kept.weights.shape[0] if kept else 0,
        "queries": kept.rows if kept else 0,
        "keys": kept.columns if kept else 0,
        "steps": [max(step, 0) for step in one.steps.tolist()],
        "place": own or place_of(opened, found.process, series),
    }


def answer_heads(opened: OpenRun, asked: Parameters) -> Answer:
    """The HeadLines of inside.ts: the numbers of each head, at some looks evenly apart."""
    series = series_of(opened, asked.get("attention", ""), "attention")
    return opened.keep("heads", series.number, lambda: _lines(Attention(series)))


def _lines(one: Attention) -> Answer:
    looks = np.unique(np.linspace(0, len(one) - 1, min(LOOKS, len(one))).astype(np.int64)).tolist()
    seen_at = [(look, one.statistics(look)) for look in looks]
    known = [(look, numbers) for look, numbers in seen_at if numbers]  # the oldest may have given way
    heads = min(max((len(numbers["entropy"]) for _, numbers in known), default=0), LINES)
    columns = {name: [plain(line) for line in _table(known, name, heads)] for name in CHARTED}
    return {"steps": [max(int(one.steps[look]), 0) for look, _ in known], "columns": columns}


def _table(known: list[tuple[int, dict[str, Array]]], name: str, heads: int) -> Array:
    """A row a head, a column a look; NaN where a look has fewer heads."""
    table = np.full((heads, len(known)), np.nan)
    for at, (_, numbers) in enumerate(known):
        line = numbers.get(name, np.empty(0))[:heads]
        table[: len(line), at] = line
    return table.round(6)
