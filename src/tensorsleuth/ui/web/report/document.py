"""The sheet: verdict, findings, charts, counts and gaps. All text of the trace is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tensorsleuth.core.formatting import duration, local_time, plural
from tensorsleuth.ui.web.export.export import csp_digest
from tensorsleuth.ui.web.export.local_client import LocalClient
from tensorsleuth.ui.web.report.findings import finding_html
from tensorsleuth.ui.web.report.style import STYLE
from tensorsleuth.ui.web.report.svg_charts import ChartLane, curve_chart, escape_text, lanes_chart
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.server.run_cache import CachedRun

MAX_ANSWER_BYTES = 100_000_000  # they are read here, not included in the file
MAX_FINDINGS = 10  # reported in full
TIMELINE_BINS = 240
MAX_LANES = 12
KIND_LABELS = {"nan": "NaN", "neg_inf": "−∞", "pos_inf": "+∞", "violation": "out of bounds", "error": "errors"}


def make_report(run: Path) -> str:
    """Return a run as one HTML file without scripts, which loads nothing."""
    local_client = LocalClient(CachedRun(OpenRun(run)), MAX_ANSWER_BYTES)
    about, verdict = local_client(""), local_client("verdict")
    body = "\n".join(
        [
            _head(about, verdict),
            *_findings(local_client, verdict),
            *_pictures(local_client),
            *_counts(local_client),
            *_caveats(about, verdict),
            f'<p class="soft">Walk through it: <code>sleuth view {escape_text(run.name)}</code></p>',
        ]
    )
    return _document(f"{about['program']}: {verdict['verdict']}", body)


def _document(title: str, body: str) -> str:
    policy = f"default-src 'none'; style-src '{csp_digest(STYLE)}'; img-src data:; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="content-security-policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape_text(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _head(about: dict[str, Any], verdict: dict[str, Any]) -> str:
    numbers = [
        plural(about["steps"], "step"),
        f"{plural(about['tensors'], 'tensor')} watched",
        plural(about["bad"], "bad one"),
    ]
    when = [about["ending"], local_time(about["started"] or 0), duration(about["seconds"]), f"mode {about['mode']}"]
    return (
        f"<h1>{escape_text(about['program'])}: {_verdict(verdict, about['tensors'])}</h1>"
        f'<p class="soft">{escape_text(" · ".join(numbers))}</p><p class="soft">{escape_text(" · ".join(when))}</p>'
        f'<p class="soft"><code>{escape_text(about["command"])}</code></p>'
    )


def _verdict(verdict: dict[str, Any], tensors: int) -> str:
    if verdict["findings"]:
        return f'<span class="bad">{plural(len(verdict["findings"]), "problem")}</span>'
    if not tensors:
        return "nothing was recorded"
    return "unclear" if verdict["verdict"] == "unknown" else '<span class="good">healthy</span>'


def _findings(local_client: LocalClient, verdict: dict[str, Any]) -> Iterator[str]:
    for told in verdict["findings"][:MAX_FINDINGS]:
        yield finding_html(local_client, told)
    more = len(verdict["findings"]) - MAX_FINDINGS
    if more > 0:
        yield f'<p class="soft">And {plural(more, "finding")} more: <code>sleuth why --all</code></p>'


def _pictures(local_client: LocalClient) -> Iterator[str]:
    time = local_client("timeline", bins=TIMELINE_BINS)
    if time.get("lanes"):
        rows = sorted(time["lanes"], key=lambda lane: (-sum(lane["bad"]), -sum(lane["count"])))[:MAX_LANES]
        yield "<h2>Over time</h2>"
        drawn = lanes_chart(
            [ChartLane(lane["name"], lane["count"], lane["bad"]) for lane in rows], (time["from"], time["to"])
        )
        yield _figure("Computed tensors, bad ones in red", drawn)
    for scalar in local_client("scalars").get("items", [])[:1]:
        points = local_client(f"scalars/{scalar['op']}", points=600)
        bad = [value is None for value in points["value"]]
        drawn = curve_chart(points["time"], points["value"], scalar["label"], "seconds", bad)
        yield _figure(f"{scalar['label']} ({scalar['name']}); red: NaN or infinite", drawn)


def _figure(caption: str, picture: str) -> str:
    return f"<figure><figcaption>{escape_text(caption)}</figcaption>{picture}</figure>"


def _counts(local_client: LocalClient) -> Iterator[str]:
    counts = local_client("alerts", begin=0, end=1).get("counts", [])
    if counts:
        rows = ((KIND_LABELS.get(count["kind"], count["kind"]), f"{count['count']:,}") for count in counts)
        yield "<h2>Bad tensors by kind</h2>" + _table(rows)


def _caveats(about: dict[str, Any], verdict: dict[str, Any]) -> Iterator[str]:
    if verdict["unclear"]:
        yield "<h2>Unclear</h2>" + _table((one["what"], one["command"] or "") for one in verdict["unclear"])
    masked = [(f"{told['file']}:{told['line']}", told["summary"]) for told in verdict["masked"]]
    if masked:
        yield "<h2>Masked: bad values without effect</h2>" + _table(masked)
    if about["notCovered"]:
        rows = ((entry["what"], entry["why"], entry["site"] or "") for entry in about["notCovered"])
        yield "<h2>Not covered</h2>" + _table(rows)
    if about["trouble"]:
        yield "<h2>Not read</h2>" + _table((line,) for line in about["trouble"])


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    return f"<table>{''.join(f'<tr>{_cells(row)}</tr>' for row in rows)}</table>"


def _cells(row: tuple[str, ...]) -> str:
    return "".join(f"<td>{escape_text(cell)}</td>" for cell in row)
