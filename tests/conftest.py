"""What goes for all tests: the same examples each time, a time limit for each, and no process left behind.

Prints the gallery's score here, for pytest-xdist loads no other conftest in its parent.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from tests import processes

# The same examples each time, however slow the machine is, so that no test fails by chance.
settings.register_profile("same", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("same")

LONG_TEST_SECONDS = 1200
STUCK_SECONDS = 60  # longer than a test's limit: Python cannot interrupt a test that is stuck in native code

_stderr: list[int] = []  # a duplicate, made where pytest captures nothing


def _restore_signals() -> None:
    """Give the programs that tests start their signals, even if `nohup`, a shell's `&` or a CI runner takes them away.

    A child inherits which signals are ignored or blocked, but no handlers. So the suite still outlives its terminal.
    """
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGCHLD):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else lambda *_: None)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


_restore_signals()  # in the parent and in every worker of pytest-xdist, since each loads this file


def pytest_configure() -> None:
    _stderr.append(os.dup(2))
    processes.adopt_orphans()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("long") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(LONG_TEST_SECONDS))


def pytest_collection_finish() -> None:
    gc.freeze()  # so that no collection looks through TensorFlow and all tests again


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """End the process of a test that is stuck where pytest-timeout cannot interrupt it; print where each thread is."""
    own = item.get_closest_marker("timeout")
    limit = float(own.args[0] if own else item.config.getini("timeout"))
    faulthandler.dump_traceback_later(limit + STUCK_SECONDS, exit=True, file=_stderr[0])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.fixture(autouse=True)
def leaves_no_process() -> Iterator[None]:
    """Fail a test that leaves a process behind."""
    before = processes.children()
    yield
    left = processes.left_behind(before)
    processes.end(left)
    assert not left, f"the test left processes running: {left}"


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """End what outlived its test, also where the worker that ran the test has died."""
    left = processes.left_behind(set())
    processes.end(processes.children())
    if left and "PYTEST_XDIST_WORKER" not in os.environ:
        print(f"\nThe tests left processes running: {left}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.stats.get(kind, [])]
    scored = [dict(report.user_properties)["score"] for report in reports if "score" in dict(report.user_properties)]
    if scored:
        from tests.programs.score import Score, total

        terminalreporter.section("gallery")
        terminalreporter.write_line(total([Score(**fields) for fields in scored]))
