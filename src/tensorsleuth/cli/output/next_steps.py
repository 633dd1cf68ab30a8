"""The next commands to type."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tensorsleuth.cli.output.command_text import sleuth_command
from tensorsleuth.core.formatting import plural

if TYPE_CHECKING:
    from tensorsleuth.core.finding import Diagnosis
    from tensorsleuth.trace.series.attention import AttentionSeries

FINDINGS_SHOWN = 1  # findings that are shown in full without --all


def next_commands(
    run: Path, found: Diagnosis | None = None, everything: bool = False, attention: Sequence[AttentionSeries] = ()
) -> dict[str, str]:
    """Return the next commands, each with what it shows."""
    ways = {"view": "see it in the browser", "debug": "walk through it in the terminal"}
    heads = sum(one.heads for one in attention)
    if heads:
        ways["attention"] = f"what its {plural(heads, 'head')} attend to" if heads > 1 else "what its head attends to"
        ways["layers"] = "its layers, gradients and updates"
    more = len(found.findings) - FINDINGS_SHOWN if found is not None and not everything else 0
    if more > 0:
        ways["why --all"] = f"{plural(more, 'more finding')} in full"
    return {sleuth_command(words, run): text for words, text in ways.items()}
