"""Real Chromium on the real server over real runs. A test fails where the browser complains, whatever else it found."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser import recording
from tests.browser.chromium import LONG, MISSING, browsing, executable, watched_page
from tests.browser.looking import marked_line
from tests.unit.serving import Serving, serving

from tensorsleuth.ui.web import page_files

expect.set_options(timeout=LONG)

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Not for longer: while it is open, no other test of this process could run an event loop."""
    if os.environ.get("SLEUTH_NO_BROWSER") == "1":
        pytest.skip("SLEUTH_NO_BROWSER=1")
    if executable() is None:
        pytest.fail(MISSING)
    with browsing() as chromium:
        yield chromium


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of the session see."""
    base = tmp_path_factory.getbasetemp()
    return base.parent / "shared" if "PYTEST_XDIST_WORKER" in os.environ else base / "shared"


@pytest.fixture(scope="session")
def demo_logdir(shared: Path) -> Path:
    return recording.once(shared / "demo", recording.demo)


@pytest.fixture
def served() -> Iterator[Callable[[Path], Serving]]:
    """Serves a log directory with the built page, until the end of the test."""
    with ExitStack() as stack:
        yield lambda logdir: stack.enter_context(serving(logdir, files=page_files.load()))


@pytest.fixture
def refused() -> list[str]:
    """A test that asks for what the server refuses says so here: parts of what Chromium then writes to the console."""
    return []


@pytest.fixture
def open_page(browser: Browser, refused: list[str]) -> Iterator[Open]:
    """Opens addresses in pages of their own; the test fails where one has an error that it does not `forgive`."""
    with ExitStack() as stack:
        watched = []

        def open_one(address: str, forgive: str = "nothing", **options: object) -> Page:
            one = stack.enter_context(watched_page(browser, forgive, **options))
            watched.append(one)
            one.page.goto(address)
            return one.page

        yield open_one
        wrong = [line for one in watched for line in one.wrong]
        assert [line for line in wrong if not any(part in line for part in refused)] == []


@pytest.fixture(scope="module")
def demo(demo_logdir: Path) -> Iterator[str]:
    """The address of the demo's run, served once for all that only look at it."""
    (run,) = [path.name for path in demo_logdir.iterdir() if path.is_dir()]
    with serving(demo_logdir, files=page_files.load()) as running:
        yield f"http://127.0.0.1:{running.port}/#run={run}"


@pytest.fixture
def page(open_page: Open, demo: str) -> Page:
    """The demo's run, once its verdict and the line are on screen: what comes above moves what is below."""
    opened = open_page(demo)
    expect(marked_line(opened)).to_be_visible()
    return opened
