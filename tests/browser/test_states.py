"""What the page says where there is little to show: no run, no finding, no values, no server."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.looking import chosen_row, panel, part, verdict
from tests.unit.serving import Serving

from tensorsleuth.trace.storage import synthetic

Open = Callable[..., Page]
Serve = Callable[[Path], Serving]
MILLION = 1_000_000
ROW = "row-999999"


def test_no_run_yet_teaches_and_opens_the_first(tmp_path: Path, served: Serve, open_page: Open) -> None:
    page = open_page(f"http://127.0.0.1:{served(tmp_path).port}/")
    expect(page.get_by_role("heading", name="No run here yet")).to_be_visible()
    expect(page.get_by_text("sleuth run train.py")).to_be_visible()
    synthetic.write(tmp_path / "20260101-000000-first", 2000, bad=0)
    expect(verdict(page)).to_contain_text(re.compile(r"[Nn]o (other )?problem found in .*2,000 tensors"))
    assert part(page, "run") == "20260101-000000-first"


def test_a_healthy_run_says_what_was_watched(tmp_path: Path, served: Serve, open_page: Open) -> None:
    synthetic.write(tmp_path / "run", 2000, bad=0)
    page = open_page(f"http://127.0.0.1:{served(tmp_path).port}/#run=run")
    expect(verdict(page)).to_contain_text("Healthy")
    expect(verdict(page)).to_contain_text(re.compile(r"[Nn]o (other )?problem found in .*2,000 tensors"))
    expect(panel(page, "Alerts")).to_contain_text("None: no tensor had a NaN or an infinity.")
    expect(page).to_have_title(re.compile(r"^synthetic\.py"))


@pytest.fixture
def million(tmp_path: Path, served: Serve, open_page: Open) -> Page:
    synthetic.write(tmp_path / "run", MILLION)
    return open_page(f"http://127.0.0.1:{served(tmp_path).port}/#run=run")


def test_a_list_of_a_million_rows(million: Page) -> None:
    tensors = panel(million, "Tensors")
    expect(tensors).to_contain_text("1,000,000 tensors")
    expect(chosen_row(million)).to_be_visible()  # the loss: it was scrolled to
    million.locator(".list-scroll").evaluate("list => { list.scrollTop = list.scrollHeight }")
    expect(million.locator(f"#{ROW}")).to_be_in_viewport()
    assert million.locator(".row").count() < 100
    million.keyboard.press("n")
    expect(chosen_row(million)).to_contain_text("500000")
    expect(chosen_row(million)).to_be_in_viewport()
    tensors.get_by_label("Health").select_option("nan")
    expect(tensors).to_contain_text("100 tensors")
    tensors.get_by_role("button", name="More filters").click()
    tensors.get_by_label("Step from").fill("900")
    expect(tensors).to_contain_text("20 tensors")
    million.go_back()
    expect(tensors).to_contain_text("1,000,000 tensors")


def test_borders_move_by_key_and_stay(page: Page) -> None:
    border = page.get_by_role("separator", name="Width of the columns").first
    before = panel(page, "Tensors").bounding_box()
    border.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    after = panel(page, "Tensors").bounding_box()
    assert before and after and after["width"] > before["width"] + 20
    page.reload()
    expect(chosen_row(page)).to_be_visible()
    kept = panel(page, "Tensors").bounding_box()
    assert kept and abs(kept["width"] - after["width"]) < 3


def test_a_panel_can_have_the_page_for_itself(page: Page) -> None:
    page.get_by_role("button", name="Enlarge Tensors").click()
    expect(panel(page, "Tensors").get_by_role("columnheader", name=re.compile("^Mean"))).to_be_visible()
    expect(panel(page, "Timeline")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(panel(page, "Timeline")).to_be_visible()


def test_every_control_has_a_name(page: Page) -> None:
    expect(chosen_row(page)).to_be_visible()
    nameless = page.evaluate(
        """[...document.querySelectorAll('button, input, select, [tabindex="0"], [role="img"]')]
        .filter(e => !(e.ariaLabel || e.getAttribute('aria-labelledby') || e.textContent.trim() || e.title))
        .map(e => e.outerHTML.slice(0, 120))"""
    )
    assert nameless == []


def test_tab_goes_through_the_page_in_its_order(page: Page) -> None:
    expect(chosen_row(page)).to_be_visible()
    order = []
    for _ in range(60):
        page.keyboard.press("Tab")
        order.append(
            page.evaluate(
                "(document.activeElement.closest('header.top, section')?.getAttribute('aria-label')) ?? 'top'"
            )
        )
    regions = [name for at, name in enumerate(order) if name not in order[:at]]
    assert regions[:5] == ["top", "Verdict", "Timeline", "Alerts", "Tensors"]
