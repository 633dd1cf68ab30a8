"""A file of the program as it was during the run, with the health of each line's tensors."""

from __future__ import annotations

from tensorsleuth.ui.web.answers.source.highlight import highlight_lines
from tensorsleuth.ui.web.answers.source.margins import margins
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Answer, Parameters


def answer(opened: OpenRun, asked: Parameters) -> Answer:
    """Return a Source (web/src/api/types.ts)."""
    number, text = opened.sources.text(asked.get("file", ""))
    step = int(opened.table.step[opened.table.place(asked["at"])]) if asked.get("at") else None
    marks = opened.cache("margins", (number, step), lambda: margins(opened, opened.sources.paths[number], step))
    lines = opened.cache("source", number, lambda: highlight_lines(text))
    told = [{"html": html, "margin": marks.get(line)} for line, html in enumerate(lines, 1)]
    return {"file": opened.sources.describe(number), "lines": told, "css": None}
