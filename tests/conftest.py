"""What goes for all tests. Prints the gallery's score here, for pytest-xdist loads no other conftest in its parent."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings

# The same examples each time, however slow the machine is: no test fails by chance.
settings.register_profile("same", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("same")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, [])]
    scored = [dict(report.user_properties)["score"] for report in reports if "score" in dict(report.user_properties)]
    if scored:
        from tests.programs.score import Score, total

        terminalreporter.section("gallery")
        terminalreporter.write_line(total([Score(**fields) for fields in scored]))
