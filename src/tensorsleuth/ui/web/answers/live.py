"""Changes of a run that is still being written."""

from __future__ import annotations

from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Answer
from tensorsleuth.ui.web.run.run_list import summary_json


def change(opened: OpenRun) -> Answer:
    """Return the Change (web/src/api/types.ts) that the page shows of a growing run."""
    told, steps = summary_json(opened), opened.trace.steps
    kept = {name: told[name] for name in ("tensors", "bad", "steps", "status")}
    return {"cursor": opened.cursor, **kept, "lastStep": steps[-1] if steps else None, "live": opened.is_live}
