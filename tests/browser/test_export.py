"""The exported page, opened from the disk: what was taken along is there, and the rest says that it was not."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.looking import chosen_row, marked_line, panel, title, verdict
from tests.browser.recording import sleuth

NOT_TAKEN = "not taken along"


@pytest.fixture(scope="module")
def page_file(demo_logdir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("exported") / "page.html"
    sleuth("view", "--logdir", demo_logdir, "--export", target)
    assert target.stat().st_size < 5_200_000
    return target


@pytest.fixture
def exported(page_file: Path, open_page: Callable[..., Page]) -> Page:
    return open_page(f"file://{page_file}")


def test_its_first_screen_is_the_page_s(exported: Page) -> None:
    expect(verdict(exported)).to_contain_text(re.compile(r"digits_mlp\.py:79 takes log\(0\)"))
    expect(marked_line(exported).locator(".line-number")).to_have_text("79")
    expect(chosen_row(exported)).to_contain_text("Log")
    expect(panel(exported, "Timeline").get_by_role("img")).to_have_attribute("aria-label", re.compile("51 steps"))
    for tab in ("Graph", "Stack trace"):
        exported.get_by_role("tab", name=tab).click()
        expect(panel(exported, tab)).to_contain_text(re.compile("Softmax|cross_entropy"))
    expect(exported.locator("body")).not_to_contain_text(NOT_TAKEN)


def test_the_findings_tensors_are_taken_along(exported: Page) -> None:
    for hop, name in (("Mul (NaN)", "mul:0"), ("Sum", "Sum:0"), ("Mean", "Mean:0"), ("Neg", "Neg:0")):
        verdict(exported).get_by_role("button", name=hop, exact=True).click()
        expect(title(exported)).to_have_text(name)
        expect(marked_line(exported)).to_be_visible()
    expect(exported.locator("body")).not_to_contain_text(NOT_TAKEN)


def test_the_rest_says_so(exported: Page) -> None:
    panel(exported, "Tensors").get_by_label("Op type").fill("OneHot")
    expect(panel(exported, "Tensors")).to_contain_text(NOT_TAKEN)


def test_what_is_about_other_runs_is_not_offered(exported: Page) -> None:
    expect(verdict(exported)).to_contain_text("takes log(0)")
    expect(exported.get_by_role("banner")).to_contain_text("digits_mlp.py")
    for name in ("Runs", "Compare"):
        expect(exported.get_by_role("button", name=name, exact=True)).to_have_count(0)
    expect(exported.locator("#run-picker")).to_have_count(0)
    exported.keyboard.press("?")
    expect(exported.get_by_role("dialog")).to_contain_text("Next alert")
    expect(exported.get_by_role("dialog")).not_to_contain_text("Choose another run")


def test_the_report_reads_without_a_script(demo_logdir: Path, tmp_path: Path, open_page: Callable[..., Page]) -> None:
    sleuth("report", "--logdir", demo_logdir, "-o", tmp_path / "report.html")
    page = open_page(f"file://{tmp_path}/report.html", java_script_enabled=False)
    expect(page.locator("h1")).to_contain_text("1 problem")
    expect(page.locator(".row.here")).to_contain_text("tf.math.log(probs)")
    assert page.locator("svg").count() == 3
