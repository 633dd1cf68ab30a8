"""The text of the guard's exception: the same explanation as from `sleuth why`."""

from __future__ import annotations

import io
from collections.abc import Collection
from dataclasses import replace

from tensorsleuth.core.errors import NumericsError
from tensorsleuth.core.finding import Diagnosis, Finding
from tensorsleuth.diagnose.report import findings_of
from tensorsleuth.recording.violations.error_types import as_tensorflow_error
from tensorsleuth.trace.process.process import ProcessTrace

TEXT_WIDTH = 120
_Raised = as_tensorflow_error(NumericsError)


def make_numerics_error(process: ProcessTrace, reached: str, born: Collection[str] = ()) -> NumericsError:
    """Return the error to raise for a bad value. `reached` names the place that it has reached.

    `process` holds the rows that led to it and no others. `born` names the tensors of origin, if they are known.
    """
    findings = tuple(_findings(process, born))
    return _Raised(_text(findings, reached), findings)


def _findings(process: ProcessTrace, born: Collection[str]) -> list[Finding]:
    """Return the related findings, likeliest first. The harm is certain by now, so no finding counts as masked."""
    found = sorted(findings_of(process), key=lambda finding: _rank(finding, born))
    best = _rank(found[0], born)[0] if found else False
    return [replace(finding, severity="error") for finding in found if _rank(finding, born)[0] == best]


def _rank(finding: Finding, born: Collection[str]) -> tuple[bool, bool]:
    return finding.name not in born if born else finding.severity != "error", finding.op == "ReadVariableOp"


def _text(findings: tuple[Finding, ...], reached: str) -> str:
    if not findings:
        return f"A NaN or infinite value reached {reached}. Its origin is unknown; `sleuth run` may find it."
    from rich.console import Console

    from tensorsleuth.ui.terminal.end_report import LABEL_WIDTH
    from tensorsleuth.ui.terminal.verdict import verdict

    written = io.StringIO()
    diagnosis = Diagnosis("", findings[:1], (), (), (), 1, 0)
    Console(file=written, width=TEXT_WIDTH, no_color=True, force_terminal=False).print(verdict(diagnosis))
    lines = [line.rstrip() for line in written.getvalue().splitlines()]
    text = "\n".join(lines).strip().removeprefix("PROBLEM").strip()
    return f"{text}\n{'   Reached':<{LABEL_WIDTH}} {reached}"
