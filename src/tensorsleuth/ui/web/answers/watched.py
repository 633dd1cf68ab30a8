"""The watched series and the log messages of the program."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import MeasureFlag
from tensorsleuth.trace.series import png
from tensorsleuth.trace.series.watched import WatchedSeries, watched_in
from tensorsleuth.ui.web.run import ids, parameters
from tensorsleuth.ui.web.run.downsampling import json_numbers
from tensorsleuth.ui.web.run.errors import NotFound
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Answer, Parameters

DEFAULT_POINTS, MAX_POINTS = 400, 4000
MAX_HISTOGRAMS = 40  # drawn at once
MAX_IMAGE_BYTES = 1 << 20  # of pixels


def answer(opened: OpenRun, asked: Parameters) -> Answer:
    """Return the Watched (web/src/api/types.ts)."""
    items = [
        {"id": name, "kind": one.kind, "name": one.name, "what": list(one.what), "looks": len(one)}
        | {"file": one.file, "line": one.line}
        for name, one in _all(opened).items()
    ]
    return {"items": items, "logs": len(opened.trace.logs())}


def answer_series(opened: OpenRun, asked: Parameters) -> Answer:
    """Return the WatchedSeries (web/src/api/types.ts), with the latest samples if there are more than points."""
    series = _all(opened).get(asked.get("series", ""))
    if series is None:
        raise NotFound("There is no such series in this run.", "Take one from the list of watched series.")
    points = parameters.integer(asked, "points", DEFAULT_POINTS, 1, MAX_POINTS)
    kept = np.unique(np.linspace(0, len(series) - 1, min(points, len(series))).astype(np.int64))
    columns = {"scalar": series.scalar, "norm": series.norm, "ratio": series.ratio, "mean": series.mean}
    columns |= {"min": series.rows["min"], "max": series.rows["max"]}
    return {
        "step": [max(step, 0) for step in series.steps[kept].tolist()],
        **{name: json_numbers(column[kept]) for name, column in columns.items()},
        "quantiles": {f"{at:g}": json_numbers(column[kept]) for at, column in _quantiles(series).items()},
        "ridges": _ridges(series),
        "images": _images(series),
        "texts": series.texts() if "text" in series.what else [],
    }


def answer_logs(opened: OpenRun, asked: Parameters) -> Answer:
    """Return the Logs (web/src/api/types.ts)."""
    logs = opened.trace.logs()
    begin, end = parameters.page(asked, len(logs))
    items = [
        {"time": one.time, "step": one.step, "message": one.message, "file": one.file, "line": one.line}
        for one in logs[begin:end]
    ]
    return {"begin": begin, "end": end, "total": len(logs), "items": items}


def _all(opened: OpenRun) -> dict[str, WatchedSeries]:
    def read() -> dict[str, WatchedSeries]:
        processes = enumerate(opened.trace.processes)
        series = ((number, one) for number, process in processes for one in watched_in(process))
        return {ids.make_id(number, one.number): one for number, one in series}

    return opened.cache("watched", None, read)


def _quantiles(series: WatchedSeries) -> dict[float, Array]:
    return series.quantiles if "quantiles" in series.what else {}


def _ridges(series: WatchedSeries) -> list[dict[str, Any]]:
    """Return some of the histograms, at even intervals, oldest first."""
    rows = series.rows
    ranged = np.isfinite(rows["min"]) & np.isfinite(rows["max"])
    shown = np.flatnonzero((rows["flags"] & MeasureFlag.HISTOGRAM != 0) & ranged)
    shown = shown[np.unique(np.linspace(0, len(shown) - 1, min(MAX_HISTOGRAMS, len(shown))).astype(np.int64))]
    return [_ridge(row) for row in series.rows[shown]]


def _ridge(row: Any) -> dict[str, Any]:
    step, low, high = max(int(row["step"]), 0), float(row["min"]), float(row["max"])
    return {"step": step, "min": low, "max": high, "bins": row["bins"].tolist()}


def _images(series: WatchedSeries) -> list[str]:
    """Return the latest sample's images, as data URLs."""
    images = series.image() if "image" in series.what else None
    if images is None or not len(images) or images[0].nbytes > MAX_IMAGE_BYTES or images.shape[3] > 4:
        return []
    pictures = (png.encode(png.as_bytes(image)) for image in images[:4])
    return [f"data:image/png;base64,{base64.b64encode(picture).decode()}" for picture in pictures]
