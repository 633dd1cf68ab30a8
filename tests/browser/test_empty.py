"""What the page says where there is nothing to show, and how it goes on from there."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect
from tests.browser.looking import panel, verdict
from tests.unit.serving import Serving

from tensorsleuth.trace.storage import synthetic

Serve = Callable[[Path], Serving]
Open = Callable[..., Page]


def test_no_run_yet_says_how_to_make_one_and_waits(tmp_path: Path, served: Serve, open_page: Open) -> None:
    page = open_page(f"http://127.0.0.1:{served(tmp_path).port}/")
    expect(page.locator("main")).to_contain_text("sleuth run")
    synthetic.write(tmp_path / "first", events=2000)
    expect(verdict(page)).to_be_visible()


def test_a_healthy_run_is_told_as_such(tmp_path: Path, served: Serve, open_page: Open) -> None:
    synthetic.write(tmp_path / "first", events=2000, bad=0)
    page = open_page(f"http://127.0.0.1:{served(tmp_path).port}/#run=first")
    expect(verdict(page)).to_contain_text(re.compile("healthy", re.I))
    expect(panel(page, "Tensors")).to_contain_text("2,000 tensors")
    expect(page.locator("body")).not_to_contain_text("Problem")


def test_a_run_that_there_is_not_is_told(tmp_path: Path, served: Serve, open_page: Open) -> None:
    synthetic.write(tmp_path / "first", events=2000)
    page = open_page(f"http://127.0.0.1:{served(tmp_path).port}/#run=other", forgive="404")
    expect(page.locator("main")).to_contain_text("There is no run 'other' here.")


def test_a_server_that_stopped_is_told(tmp_path: Path, served: Serve, open_page: Open) -> None:
    synthetic.write(tmp_path / "first", events=2000)
    server = served(tmp_path)
    page = open_page(f"http://127.0.0.1:{server.port}/#run=first", forgive="ERR_CONNECTION_REFUSED")
    expect(panel(page, "Tensors")).to_contain_text("2,000 tensors")
    server.stop()
    panel(page, "Tensors").get_by_label("Op type").fill("Log")
    expect(page.locator("body")).to_contain_text("does not answer")


def test_two_runs_are_compared(tmp_path: Path, served: Serve, open_page: Open) -> None:
    synthetic.write(tmp_path / "first", events=2000, bad=0)
    synthetic.write(tmp_path / "second", events=2000, bad=1)
    page = open_page(f"http://127.0.0.1:{served(tmp_path).port}/#run=first&with=second&whole=compare")
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.locator("main")).to_contain_text(re.compile("layer_0/|NaN"))
