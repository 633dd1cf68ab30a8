"""The attention layers, the statistics of each head over the steps, and remarks on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorsleuth.analyze.layers.no_stats import explain_missing_stats
from tensorsleuth.core.array import Array
from tensorsleuth.core.catalog import Frame
from tensorsleuth.diagnose.attention.remarks import attention_lines, remarks_of
from tensorsleuth.trace.series.attention import AttentionSeries
from tensorsleuth.trace.series.layer_stats import LayerStatistics
from tensorsleuth.trace.series.watched import WatchedSeries
from tensorsleuth.ui.web.answers.attention.locations import series_place
from tensorsleuth.ui.web.answers.attention.stats import RunLayerStats, layer_stats_of, series_of
from tensorsleuth.ui.web.run.downsampling import json_numbers
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Answer, Parameters

MAX_SAMPLES = 100  # in a line
MAX_HEADS = 32  # as many as have weights
CHARTED = ("entropy", "distance", "sink")
MAX_ATTENTIONS = 500  # in the list
MAX_REMARKS = 100


def answer_inside(opened: OpenRun, asked: Parameters) -> Answer:
    """Return the Inside (web/src/api/inside.ts): the panels that have something to show."""
    inside = layer_stats_of(opened).stats
    layers = sum(len(inside.of(kind)) for kind in ("output", "gradient", "update"))
    return {"attention": len(inside.of("attention")), "layers": layers}


def answer(opened: OpenRun, asked: Parameters) -> Answer:
    """Return the AttentionList (web/src/api/inside.ts)."""
    found = layer_stats_of(opened)
    series = found.stats.of("attention")
    return {
        "items": opened.cache("attention", None, lambda: _items(opened, found, series[:MAX_ATTENTIONS])),
        "leftOut": max(len(series) - MAX_ATTENTIONS, 0),
        "remarks": opened.cache("remarks", None, lambda: _remarks(found)),
        "why": None if series else explain_missing_stats(opened.trace, found.stats, "attention"),
    }


def _items(opened: OpenRun, found: RunLayerStats, series: list[WatchedSeries]) -> list[dict[str, Any]]:
    lines = attention_lines(LayerStatistics(found.stats.process))
    return [_item(opened, found, one, lines.get(one.name)) for one in series]


def _remarks(found: RunLayerStats) -> list[dict[str, Any]]:
    """Return the remarks of `sleuth attention`. They need every sample, which is freed with their own Inside."""
    own = LayerStatistics(found.stats.process)
    names = ("what", "severity", "layer", "who", "words")
    told = remarks_of(own)[:MAX_REMARKS]
    return [{name: getattr(one, name) for name in names} | {"heads": list(one.heads)} for one in told]


def _item(opened: OpenRun, found: RunLayerStats, series: WatchedSeries, line: Frame | None) -> dict[str, Any]:
    own = opened.sources.place(line.file, line.line, line.function) if line is not None else None
    one = AttentionSeries(series)  # a separate one, so that the samples it reads are freed with it
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
        "place": own or series_place(opened, found.process, series),
    }


def answer_heads(opened: OpenRun, asked: Parameters) -> Answer:
    """Return the HeadLines (web/src/api/inside.ts): the numbers of each head, at samples at even intervals."""
    series = series_of(opened, asked.get("attention", ""), "attention")
    return opened.cache("heads", series.number, lambda: _lines(AttentionSeries(series)))


def _lines(one: AttentionSeries) -> Answer:
    looks = np.unique(np.linspace(0, len(one) - 1, min(MAX_SAMPLES, len(one))).astype(np.int64)).tolist()
    seen_at = [(look, one.statistics(look)) for look in looks]
    known = [(look, numbers) for look, numbers in seen_at if numbers]  # the oldest may have been overwritten
    heads = min(max((len(numbers["entropy"]) for _, numbers in known), default=0), MAX_HEADS)
    columns = {name: [json_numbers(line) for line in _table(known, name, heads)] for name in CHARTED}
    return {"steps": [max(int(one.steps[look]), 0) for look, _ in known], "columns": columns}


def _table(known: list[tuple[int, dict[str, Array]]], name: str, heads: int) -> Array:
    """Return a row for each head and a column for each sample, with NaN if a sample has fewer heads."""
    table = np.full((heads, len(known)), np.nan)
    for at, (_, numbers) in enumerate(known):
        line = numbers.get(name, np.empty(0))[:heads]
        table[: len(line), at] = line
    return table.round(6)
