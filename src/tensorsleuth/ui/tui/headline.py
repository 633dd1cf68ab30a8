"""The lines at the top: the verdict, and the state of a live program."""

from __future__ import annotations

import os
from typing import Any

from rich.text import Text

from tensorsleuth.core.confidence import healthy_words, unclear_words, verdict_mark
from tensorsleuth.core.finding import Diagnosis
from tensorsleuth.core.formatting import plural, printable


def headline(found: Diagnosis | str | None) -> Text:
    """Return the first finding as a sentence, or the text `found`; None means that the search still runs."""
    if found is None:
        return Text("… looking for the cause", style="dim")
    if isinstance(found, str):
        return Text.assemble(("NO VERDICT ", "bold yellow"), printable(found))
    if found.findings:
        first = found.findings[0]
        summary = first.summary.replace(first.file, os.path.basename(first.file)) if first.file else first.summary
        more = f"  (+{len(found.findings) - 1} more: w)" if len(found.findings) > 1 else ""
        return Text.assemble(("PROBLEM ", "bold red"), (printable(summary), "bold"), (more, "dim"))
    if found.verdict == "unknown":
        mark = f"{verdict_mark(found).upper()} "
        return Text.assemble((mark, "bold yellow"), printable(unclear_words(found)))
    notes = f", {plural(len(found.notes), 'note')}" if found.notes else ""
    return Text.assemble(("HEALTHY", "bold green"), (notes, "bold yellow"), f" {healthy_words(found)}")


def live_line(status: dict[str, Any]) -> Text:
    """Return a line such as `PAUSED at … why`."""
    if status.get("state") != "paused":
        return Text("RUNS    the program is running", style="bold green")
    where = status.get("where")
    place = where if isinstance(where, dict) else {}
    parts = (place.get("name"), place.get("op"), place.get("step") is not None and f"step {place.get('step')}")
    said = "  ".join(str(part) for part in parts if part)
    why = f"  {status['why']}" if status.get("why") else ""
    return Text.assemble(
        ("PAUSED  ", "bold yellow"), printable(said), (printable(why), "bold"), ("  s step  c continue", "dim")
    )
