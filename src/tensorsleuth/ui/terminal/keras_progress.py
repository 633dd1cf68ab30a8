"""The line that the callback prints next to Keras's progress bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tensorsleuth.core.finding import Diagnosis, Finding
from tensorsleuth.core.formatting import plural, printable
from tensorsleuth.ui.terminal.console import show_on_stderr
from tensorsleuth.ui.terminal.verdict import headline, verdict


def epoch_line(number: int, tensors: int, alarm: bool, stopped: Sequence[Finding]) -> str:
    """Return a line such as `sleuth: epoch 2: 1,204 tensors, healthy`."""
    if stopped:
        state = f"stopped: {headline(stopped[0])}"
    else:
        state = "healthy" if not alarm else "this run has a NaN or an infinity"
    return printable(f"sleuth: epoch {number}: {plural(tensors, 'tensor')}, {state}")


def print_beside_bar(line: str) -> None:
    """Print on stdout, where the progress bar is."""
    print(line, flush=True)


def show_stop_reason(diagnosis: Diagnosis | None, findings: Sequence[Finding]) -> None:
    """Print why training was stopped: the findings of this fit."""
    if diagnosis is not None:
        show_on_stderr(verdict(replace(diagnosis, findings=tuple(findings))))
