"""The verdict of `sleuth why` in one line, for commands that show another aspect of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tensorsleuth.cli.output.command_text import sleuth_command

if TYPE_CHECKING:
    from tensorsleuth.core.finding import Finding
    from tensorsleuth.trace.reader import Trace


def findings_of(trace: Trace) -> list[Finding]:
    """Return all findings, and the notes about layers: statistics that look fine may still be wrong."""
    from tensorsleuth.diagnose.report import diagnose

    found = diagnose(trace)
    return [*found.findings, *(note for note in found.notes if note.layer)]


def why_hint(trace: Trace, findings: Sequence[Finding]) -> dict[str, str]:
    """Return the command that shows the findings in full, for `hint_at`."""
    return {sleuth_command("why", trace.path): "the problem in full, with its line"} if findings else {}
