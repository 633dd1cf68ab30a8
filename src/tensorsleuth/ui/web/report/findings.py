"""One finding: summary, place, source lines, evidence, fix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tensorsleuth.core.formatting import printable
from tensorsleuth.ui.web.export.local_client import LocalClient
from tensorsleuth.ui.web.report.svg_charts import curve_chart, escape_text

CONTEXT_LINES = 4  # before and after the marked line

_HEADINGS = ("", "tensor", "dtype", "shape", "health")


def finding_html(local_client: LocalClient, told: dict[str, Any]) -> str:
    kind = "finding masked" if told["severity"] == "masked" else "finding"
    parts = [
        f"<h3>{escape_text(headline(told))}</h3>",
        f'<p class="soft">{escape_text(_where(told))}</p>',
        *_source(local_client, told["place"]),
        _evidence(told["evidence"]),
        _story(told),
        *_history(local_client, told["tensor"]),
    ]
    return f'<section class="{kind}">{"".join(parts)}</section>'


def headline(told: dict[str, Any]) -> str:
    """Return the summary, with the file name in place of the path."""
    path = told["file"]
    return str(told["summary"]).replace(path, path.rpartition("/")[2]) if path else str(told["summary"])


def _where(told: dict[str, Any]) -> str:
    place = f"{told['file']}:{told['line']}, in {told['function']}" if told["file"] else "an unknown line"
    step = f"step {told['step']}" if told["step"] is not None and told["step"] >= 0 else None
    batch = f"epoch {told['epoch']}, batch {told['batch']}" if told["epoch"] is not None else None
    layer = f"layer {told['layer']}" if told["layer"] else None
    return " · ".join(part for part in (place, layer, step, batch, told["replica"], told["worker"]) if part)


def _source(local_client: LocalClient, place: dict[str, Any] | None) -> Iterator[str]:
    """Return the lines around, highlighted by the server, whose HTML comes from escaped tokens."""
    lines = local_client(f"sources/{place['file']}").get("lines", []) if place else []
    if not place or not lines:
        return
    first = max(1, place["line"] - CONTEXT_LINES)
    rows = enumerate(lines[first - 1 : place["line"] + CONTEXT_LINES], first)
    yield f"<pre>{''.join(_row(number, line['html'], number == place['line']) for number, line in rows)}</pre>"


def _row(number: int, html: str, here: bool) -> str:
    return f'<span class="row{" here" if here else ""}"><span class="number">{number}</span>{_cleaned(html)}</span>'


def _cleaned(html: str) -> str:
    """Return text without characters that turn the direction of writing, and without invalid ones."""
    return printable(html.rstrip().replace("\t", "    "))


def _evidence(pieces: list[dict[str, Any]]) -> str:
    if not pieces:
        return ""
    counted = all(piece["op"] == "expect" for piece in pieces)  # a violation has counts in place of types
    names = ("", "tensor", "how many", "", "found") if counted else _HEADINGS
    head = f"<tr>{''.join(f'<th>{name}</th>' for name in names)}</tr>"
    return f'<table class="evidence">{head}{"".join(_piece(piece) for piece in pieces)}</table>'


def _piece(piece: dict[str, Any]) -> str:
    shape = "" if piece["shape"] is None else str(list(piece["shape"]))
    cells = (piece["role"], piece["name"], piece["dtype"] or "", shape, piece["health"])
    return f"<tr>{''.join(f'<td>{escape_text(cell)}</td>' for cell in cells)}</tr>"


def _story(told: dict[str, Any]) -> str:
    path = " → ".join(hop["text"] for hop in told["chain"])
    rows = {
        "Path": path,
        "Seen": told["seen"],
        "Others": told["others"],
        "Logged": " · ".join(told["logged"]),
        "Cause": told["cause"],
        "Confidence": told["confidence_words"],
        "Fix": told["fix"],
    }
    return f"<dl>{''.join(f'<dt>{name}</dt><dd>{escape_text(said)}</dd>' for name, said in rows.items() if said)}</dl>"


def _history(local_client: LocalClient, tensor: str | None) -> Iterator[str]:
    """Yield the tensor's range over the run, and when it was bad."""
    past = local_client(f"tensors/{tensor}/history", points=400) if tensor else {}
    if not any(value is not None for value in past.get("max", [])):
        return
    steps = past["steps"] if None not in past["steps"] else list(range(len(past["steps"])))
    bad = [max(nan, 0) + max(inf, 0) > 0 for nan, inf in zip(past["nan"], past["inf"])]
    middle = past["mean"] if any(value is not None for value in past["mean"]) else past["max"]
    drawn = curve_chart(steps, middle, "values over the run", "step", bad, (past["min"], past["max"]))
    yield f"<figure><figcaption>This tensor over the run: its range, bad steps in red</figcaption>{drawn}</figure>"
