"""The answers in an exported page: its first screens, the tensors of findings, and their neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorsleuth.ui.web.export.embedded_layer_stats import embed_layer_stats
from tensorsleuth.ui.web.export.local_client import LocalClient, query_string
from tensorsleuth.ui.web.run.question import Answer

PAGE_ROWS = 100  # in a page of the tensor list: SIZE in web/src/panels/tensors/pages.ts
ROWS_AROUND_FOCUS = 20  # shown above and below the selected one
MAX_TENSORS = 40  # whose panels are included
MAX_SERIES = 20  # watched series
MAX_FILES = 6  # source files, each as shown for the tensors above
MAX_FILE_LINES = 5000  # longer files are included only once


def embed_answers(local_client: LocalClient) -> None:
    """Yield requests by importance: late ones are left out if there is no room."""
    run, verdict = local_client(""), local_client("verdict")
    local_client.keep(f"api/runs{query_string({'begin': 0, 'end': 200})}", _run_list(run))
    _first_screen(local_client)
    chosen = list(_unique(_of_findings(verdict)))[:MAX_TENSORS] if verdict.get("findings") else _loss(local_client)
    for tensor in chosen:
        _panels(local_client, run, tensor)
    _watched(local_client)
    embed_layer_stats(local_client)
    for tensor in _unique(_neighbours(local_client, chosen)):
        _panels(local_client, run, tensor)
        if len(chosen) >= MAX_TENSORS:
            break
        chosen.append(tensor)


def _run_list(run: Answer) -> Answer:
    """Return the list of runs with only this one: an export must not reveal the others."""
    fields = ("name", "program", "command", "started", "seconds", "status", "ending", "mode", "steps", "tensors", "bad")
    return {"begin": 0, "end": 1, "total": 1, "items": [{key: run.get(key) for key in fields}]}


def _first_screen(local_client: LocalClient) -> None:
    local_client("timeline", bins=1200)
    for scalar in local_client("scalars").get("items", [])[:3]:
        local_client(f"scalars/{scalar['op']}", points=1000)
    local_client("alerts", begin=0, end=1)
    local_client("flame")
    local_client("memory", points=800)
    for by in ("kind", "layer", "line", "op", "dtype"):
        local_client("memory/at", by=by)
    local_client("tensors", begin=0, end=PAGE_ROWS)
    local_client("tensors", begin=0, end=PAGE_ROWS, health="bad")


def _loss(local_client: LocalClient) -> list[str]:
    """Return the id of the last loss, with which a healthy run opens (web/src/state/first.ts)."""
    scalars = local_client("scalars").get("items", [])
    ids = local_client(f"scalars/{scalars[0]['op']}", points=1000).get("ids") if scalars else None
    return [str(ids[-1])] if ids else []


def _watched(local_client: LocalClient) -> None:
    """Request the first watched series, and the end of the log."""
    watched = local_client("watched")
    for series in watched.get("items", [])[:MAX_SERIES]:
        local_client(f"watched/{series['id']}", points=400)
    if watched.get("logs"):
        local_client("logs", begin=max(watched["logs"] - PAGE_ROWS, 0), end=watched["logs"])


def _of_findings(verdict: Answer) -> Iterator[str | None]:
    """Yield the origin of each finding before the rest of its path, worst finding first."""
    findings = [*verdict["findings"], *verdict["masked"]]
    for finding in findings:
        yield finding["tensor"]
    for finding in findings:
        yield from (piece["tensor"] for piece in finding["evidence"])
        yield from (hop["tensor"] for hop in finding["chain"])


def _neighbours(local_client: LocalClient, tensors: list[str]) -> Iterator[str | None]:
    for kind in local_client("alerts", begin=0, end=1).get("counts", []):
        yield kind["first"]
    for tensor in tensors:
        detail = local_client(f"tensors/{tensor}")
        yield from (near["id"] for near in [*detail.get("inputs", []), *detail.get("consumers", [])])


def _panels(local_client: LocalClient, run: Answer, tensor: str) -> None:
    """Request all that the page shows with this tensor selected."""
    detail = local_client(f"tensors/{tensor}")
    local_client(f"tensors/{tensor}/history", points=400)
    local_client("graph", id=tensor, up=2, down=2)
    if detail.get("kept"):
        local_client(f"tensors/{tensor}/value", begin=0, end=256)
    for file in _files(run, detail):
        local_client(f"sources/{file}", at=tensor)
    _place_in_list(local_client, tensor)
    for direction in ("next", "previous"):
        local_client("next", id=tensor, direction=direction)


def _place_in_list(local_client: LocalClient, tensor: str) -> None:
    index = local_client("tensors/at", id=tensor).get("index", -1)
    for row in (index, index - ROWS_AROUND_FOCUS, index + ROWS_AROUND_FOCUS) if index >= 0 else ():
        begin = max(0, row) // PAGE_ROWS * PAGE_ROWS
        local_client("tensors", begin=begin, end=begin + PAGE_ROWS)


def _files(run: Answer, detail: Answer) -> list[int]:
    """Return the files of its line and of the program's frames, the innermost first."""
    frames = [frame["place"] for frame in reversed(detail.get("stack", [])) if frame["user"]]
    forward = (detail.get("forward") or {}).get("place")
    places: list[Any] = [place for place in (detail.get("place"), forward, *frames) if place]
    lines = {file["number"]: file["lines"] for file in run["files"]}
    numbers = dict.fromkeys(place["file"] for place in places)
    return [number for number in numbers if lines.get(number, 0) <= MAX_FILE_LINES][:MAX_FILES]


def _unique(tensors: Iterator[str | None]) -> Iterator[str]:
    seen: set[str | None] = {None}
    for tensor in tensors:
        if tensor not in seen:
            seen.add(tensor)
            yield str(tensor)
