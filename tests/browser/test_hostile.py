"""A trace written by an enemy: its words are shown as words, in every panel, and none of them is run."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect
from tests.browser.looking import chosen_row, marked_line, panel, title, verdict
from tests.browser.recording import sleuth
from tests.unit import hostile
from tests.unit.serving import Serving

BIDI = re.compile("[\u202a-\u202e\u2066-\u2069\u0000-\u0008\u001b]")


def words_are_words(page: Page) -> None:
    """Nothing of the trace became an element, or an attribute that does something."""
    assert page.locator("img[src], script:not([type]):not([src]), iframe, [onerror], [onload]").count() == 0
    assert page.locator('a[href^="javascript"]').count() == 0
    assert not BIDI.search(page.locator("body").inner_text())


def test_no_panel_runs_what_a_trace_says(
    tmp_path: Path, served: Callable[[Path], Serving], open_page: Callable[..., Page]
) -> None:
    hostile.write(tmp_path / "runs" / "first", tmp_path)
    page = open_page(f"http://127.0.0.1:{served(tmp_path / 'runs').port}/#run=first")
    expect(verdict(page)).to_contain_text(hostile.IMAGE)
    expect(verdict(page)).to_contain_text(hostile.SCRIPT)
    expect(marked_line(page)).to_be_visible()
    expect(title(page)).to_contain_text(hostile.IMAGE)
    expect(panel(page, "Source")).to_contain_text(hostile.SCRIPT)
    words_are_words(page)
    page.get_by_role("tab", name="Graph").click()
    expect(panel(page, "Graph")).to_contain_text("javascript:alert(4)")
    page.get_by_role("tab", name="Stack trace").click()
    expect(panel(page, "Stack trace")).to_contain_text(hostile.SCRIPT)
    words_are_words(page)
    for name in ("Runs", "Compare"):
        page.get_by_role("button", name=name, exact=True).click()
        words_are_words(page)


def test_every_tensor_of_it_can_be_looked_at(
    tmp_path: Path, served: Callable[[Path], Serving], open_page: Callable[..., Page]
) -> None:
    hostile.write(tmp_path / "runs" / "first", tmp_path)
    page = open_page(f"http://127.0.0.1:{served(tmp_path / 'runs').port}/#run=first&tensor=0.0")
    number = chosen_row(page).get_by_role("gridcell").first
    for place in range(hostile.NODES):
        expect(number).to_have_text(str(place))
        words_are_words(page)
        page.keyboard.press("j")


def test_nor_does_the_exported_page_nor_the_report(tmp_path: Path, open_page: Callable[..., Page]) -> None:
    hostile.write(tmp_path / "runs" / "first", tmp_path)
    sleuth("view", "--logdir", tmp_path / "runs", "--export", tmp_path / "page.html")
    page = open_page(f"file://{tmp_path}/page.html")
    expect(verdict(page)).to_contain_text(hostile.SCRIPT)
    words_are_words(page)
    sleuth("report", "--logdir", tmp_path / "runs", "-o", tmp_path / "report.html")
    sheet = open_page(f"file://{tmp_path}/report.html")
    expect(sheet.locator("h3")).to_contain_text(hostile.IMAGE)
    words_are_words(sheet)
