"""The memory panel: the curve, a moment opened up by mouse and by key, on to a tensor and its line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser import recording
from tests.browser.looking import marked_line, panel, part, title
from tests.unit.serving import Serving

from tensorsleuth.trace.storage import synthetic

Serve = Callable[[Path], Serving]
Open = Callable[..., Page]


@pytest.fixture
def trained(shared: Path) -> Path:
    return recording.once(shared / "trained", recording.trained)


def opened(page: Page) -> Locator:
    """The panel, with its chart on screen."""
    page.keyboard.press("m")
    memory = panel(page, "Memory")
    expect(
        memory.get_by_role("img", name=re.compile(r"^Resident memory over .* at most\. The peak is at "))
    ).to_be_visible()
    return memory


def heading(memory: Locator) -> Locator:
    return memory.get_by_role("heading", level=4)


def test_the_peak_is_opened_up_and_leads_to_tensors_and_lines(trained: Path, served: Serve, open_page: Open) -> None:
    page = open_page(f"http://127.0.0.1:{served(trained).port}/")
    memory = opened(page)
    expect(heading(memory)).to_contain_text(re.compile(r"the peak: \d+ [MG]B resident"))
    expect(memory.get_by_role("list", name="Colours")).to_contain_text("not in tensors")
    kinds = memory.get_by_role("table", name="Tensors that were alive, by what for")
    expect(kinds.get_by_role("row").filter(has_text="weights")).to_contain_text("MB")
    memory.get_by_label("Add up by").select_option("line")
    lines = memory.get_by_role("table", name="Tensors that were alive, by line")
    lines.get_by_role("button", name="trained.py:4").click()  # where the weights are made
    expect(marked_line(page)).to_contain_text("tf.Variable")
    assert part(page, "by") == "line"
    tensors = memory.get_by_role("table", name=re.compile(r"tensors?, [\d.]+ MB$"))
    expect(tensors.get_by_role("row").filter(has_text="float32 1024×1024").first).to_be_attached()
    tensors.get_by_role("button", name=re.compile("^weights")).first.click()
    expect(title(page)).to_be_visible()
    assert part(page, "tensor") is not None


def test_other_moments_by_mouse_and_by_key(trained: Path, served: Serve, open_page: Open) -> None:
    page = open_page(f"http://127.0.0.1:{served(trained).port}/")
    memory = opened(page)
    expect(heading(memory)).to_contain_text("the peak")
    peak = memory.get_by_role("button", name="Peak")
    expect(peak).to_be_disabled()
    plot = memory.locator(".u-over")
    box = plot.bounding_box()
    assert box is not None
    plot.click(position={"x": box["width"] - 2, "y": box["height"] / 2})
    expect(heading(memory)).not_to_contain_text("the peak")
    last = part(page, "at")
    memory.get_by_role("group", name=re.compile("^Memory over time")).focus()
    page.keyboard.press("ArrowLeft")
    expect(page).not_to_have_url(re.compile(f"at={re.escape(str(last))}(&|$)"))
    assert float(part(page, "at") or "nan") < float(last or "nan")
    page.keyboard.press("Home")
    expect(heading(memory)).to_contain_text("the peak")
    expect(peak).to_be_disabled()


def test_a_run_without_samples_says_so(tmp_path: Path, served: Serve, open_page: Open) -> None:
    synthetic.write(tmp_path / "run", 2000, bad=0)
    page = open_page(f"http://127.0.0.1:{served(tmp_path).port}/#run=run")
    page.keyboard.press("m")
    expect(panel(page, "Memory")).to_contain_text("This run says nothing about memory")
    expect(panel(page, "Memory")).to_contain_text("sleuth run")


def test_an_exported_page_has_its_peak(trained: Path, tmp_path: Path, open_page: Open) -> None:
    recording.sleuth("view", "--logdir", trained, "--export", tmp_path / "page.html")
    page = open_page(f"file://{tmp_path / 'page.html'}")
    memory = opened(page)
    expect(heading(memory)).to_contain_text("the peak")
    memory.get_by_label("Add up by").select_option("op")
    expect(memory.get_by_role("table", name="Tensors that were alive, by op")).to_contain_text("Variable")
