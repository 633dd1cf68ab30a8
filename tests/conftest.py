"""Prints the score of the gallery, tests/programs; here, for pytest-xdist loads no other conftest in its parent."""

from __future__ import annotations

from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, [])]
    scored = [dict(report.user_properties)["score"] for report in reports if "score" in dict(report.user_properties)]
    if scored:
        from tests.programs.score import Score, total

        terminalreporter.section("gallery")
        terminalreporter.write_line(total([Score(**fields) for fields in scored]))
