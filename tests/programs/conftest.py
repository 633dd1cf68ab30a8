"""Prints the gallery's score when its tests have run."""

from __future__ import annotations

from typing import Any

from tests.programs.score import Score, total


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, [])]
    scored = [dict(report.user_properties)["score"] for report in reports if "score" in dict(report.user_properties)]
    if scored:
        terminalreporter.section("gallery")
        terminalreporter.write_line(total([Score(**fields) for fields in scored]))
