"""The answers in an exported page: its first screens, the tensors of findings, and their neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorsleuth.ui.web.export.embedded_layer_stats import take_inside
from tensorsleuth.ui.web.export.local_client import Asking, query
from tensorsleuth.ui.web.run.question import Answer

ROWS = 100  # of a page of the list of tensors: SIZE in web/src/panels/tensors/pages.ts
NEAR = 20  # rows above and below the one in focus that come into sight with it
MOST = 40  # tensors whose panels are taken along
SERIES = 20  # watched things
FILES = 6  # source files, each as it stands for the tensors above
LONGEST = 5000  # lines of a file that is taken along for every tensor


def take(asking: Asking) -> None:
    """In the order in which it matters: what comes late is left out where there is no room."""
    run, verdict = asking(""), asking("verdict")
    asking.keep(f"api/runs{query({'begin': 0, 'end': 200})}", _alone(run))
    _first_screen(asking)
    chosen = list(_unique(_of_findings(verdict)))[:MOST] if verdict.get("findings") else _loss(asking)
    for tensor in chosen:
        _panels(asking, run, tensor)
    _watched(asking)
    take_inside(asking)
    for tensor in _unique(_around(asking, chosen)):
        _panels(asking, run, tensor)
        if len(chosen) >= MOST:
            break
        chosen.append(tensor)


def _alone(run: Answer) -> Answer:
    """The list of runs, with this one: the others are nobody's business."""
    fields = ("name", "program", "command", "started", "seconds", "status", "ending", "mode", "steps", "tensors", "bad")
    return {"begin": 0, "end": 1, "total": 1, "items": [{key: run.get(key) for key in fields}]}


def _first_screen(asking: Asking) -> None:
    asking("timeline", bins=1200)
    for scalar in asking("scalars").get("items", [])[:3]:
        asking(f"scalars/{scalar['op']}", points=1000)
    asking("alerts", begin=0, end=1)
    asking("flame")
    asking("memory", points=800)
    for by in ("kind", "layer", "line", "op", "dtype"):
        asking("memory/at", by=by)
    asking("tensors", begin=0, end=ROWS)
    asking("tensors", begin=0, end=ROWS, health="bad")


def _loss(asking: Asking) -> list[str]:
    """Yield the questions that a healthy run opens with (web/src/state/first.ts): its last loss."""
    scalars = asking("scalars").get("items", [])
    ids = asking(f"scalars/{scalars[0]['op']}", points=1000).get("ids") if scalars else None
    return [str(ids[-1])] if ids else []


def _watched(asking: Asking) -> None:
    """Yield the first watched series, and the end of the log."""
    watched = asking("watched")
    for series in watched.get("items", [])[:SERIES]:
        asking(f"watched/{series['id']}", points=400)
    if watched.get("logs"):
        asking("logs", begin=max(watched["logs"] - ROWS, 0), end=watched["logs"])


def _of_findings(verdict: Answer) -> Iterator[str | None]:
    """Yield the origin of each finding before the rest of its path; the worst first."""
    findings = [*verdict["findings"], *verdict["masked"]]
    for finding in findings:
        yield finding["tensor"]
    for finding in findings:
        yield from (piece["tensor"] for piece in finding["evidence"])
        yield from (hop["tensor"] for hop in finding["chain"])


def _around(asking: Asking, tensors: list[str]) -> Iterator[str | None]:
    for kind in asking("alerts", begin=0, end=1).get("counts", []):
        yield kind["first"]
    for tensor in tensors:
        detail = asking(f"tensors/{tensor}")
        yield from (near["id"] for near in [*detail.get("inputs", []), *detail.get("consumers", [])])


def _panels(asking: Asking, run: Answer, tensor: str) -> None:
    """All that is on screen with this tensor in focus."""
    detail = asking(f"tensors/{tensor}")
    asking(f"tensors/{tensor}/history", points=400)
    asking("graph", id=tensor, up=2, down=2)
    if detail.get("kept"):
        asking(f"tensors/{tensor}/value", begin=0, end=256)
    for file in _files(run, detail):
        asking(f"sources/{file}", at=tensor)
    _place_in_list(asking, tensor)
    for direction in ("next", "previous"):
        asking("next", id=tensor, direction=direction)


def _place_in_list(asking: Asking, tensor: str) -> None:
    index = asking("tensors/at", id=tensor).get("index", -1)
    for row in (index, index - NEAR, index + NEAR) if index >= 0 else ():
        begin = max(0, row) // ROWS * ROWS
        asking("tensors", begin=begin, end=begin + ROWS)


def _files(run: Answer, detail: Answer) -> list[int]:
    """The files of its line and of the program's frames, the innermost first."""
    frames = [frame["place"] for frame in reversed(detail.get("stack", [])) if frame["user"]]
    forward = (detail.get("forward") or {}).get("place")
    places: list[Any] = [place for place in (detail.get("place"), forward, *frames) if place]
    lines = {file["number"]: file["lines"] for file in run["files"]}
    numbers = dict.fromkeys(place["file"] for place in places)
    return [number for number in numbers if lines.get(number, 0) <= LONGEST][:FILES]


def _unique(tensors: Iterator[str | None]) -> Iterator[str]:
    seen: set[str | None] = {None}
    for tensor in tensors:
        if tensor not in seen:
            seen.add(tensor)
            yield str(tensor)
