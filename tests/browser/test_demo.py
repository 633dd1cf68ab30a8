"""From the demo's verdict to its line, panel by panel, by mouse, by key and by address."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.looking import chosen_row, marked_line, panel, part, title, verdict

LINE = "return -tf.reduce_mean(tf.reduce_sum(labels * tf.math.log(probs), axis=1))"


def test_the_cause_is_on_screen_at_once(page: Page) -> None:
    expect(verdict(page)).to_contain_text(re.compile(r"digits_mlp\.py:79 takes log\(0\)"))
    expect(verdict(page)).to_contain_text("tf.nn.softmax_cross_entropy_with_logits")
    expect(marked_line(page)).to_contain_text(LINE)
    expect(marked_line(page).locator(".line-number")).to_have_text("79")
    expect(chosen_row(page)).to_contain_text("Log")
    expect(title(page)).to_have_text("Log:0")


def test_a_hop_of_the_chain_moves_every_panel(page: Page) -> None:
    verdict(page).get_by_role("button", name="Mul (NaN)").click()
    expect(title(page)).to_have_text("mul:0")
    expect(chosen_row(page)).to_contain_text("Mul")
    expect(marked_line(page)).to_contain_text(LINE)
    page.go_back()
    expect(title(page)).to_have_text("Log:0")


def test_what_went_in_leads_to_its_own_line(page: Page) -> None:
    panel(page, "Tensor").get_by_role("button", name=re.compile("^Softmax")).click()
    expect(title(page)).to_have_text("Softmax:0")
    expect(marked_line(page).locator(".line-number")).to_have_text("73")


def test_alerts_are_counted_and_lead_on(page: Page) -> None:
    alerts = panel(page, "Alerts")
    expect(alerts.get_by_role("button", name=re.compile(r"^NaN [\d,]+"))).to_be_visible()
    alerts.get_by_role("button", name=re.compile("^NaN")).click()
    expect(title(page)).to_have_text("mul:0")
    first = part(page, "tensor")
    alerts.get_by_role("button", name="Next alert").click()
    expect(title(page)).to_have_text("Sum:0")
    alerts.get_by_role("button", name="Previous alert").click()
    expect(title(page)).to_have_text("mul:0")
    assert part(page, "tensor") == first


def test_the_list_is_filtered_and_sorted(page: Page) -> None:
    tensors = panel(page, "Tensors")
    tensors.get_by_label("Op type").fill("Softmax")
    expect(tensors.locator(".list-foot")).to_contain_text(re.compile(r"^1\d\d tensors"))
    rows = tensors.get_by_role("row").filter(has_text="Softmax")
    expect(rows.first).to_be_visible()
    expect(tensors.get_by_role("row").filter(has_text="OneHot")).to_have_count(0)
    assert part(page, "op") == "Softmax"
    tensors.get_by_label("Health").select_option(label="NaN")
    expect(tensors.locator(".list-foot")).to_contain_text(re.compile(r"^\d\d tensors|^100 tensors"))
    assert part(page, "health") == "nan"


def test_the_timeline_shows_steps_and_the_loss(page: Page) -> None:
    timeline = panel(page, "Timeline")
    expect(timeline.get_by_role("img")).to_have_attribute(
        "aria-label", re.compile(r"5[01] steps.*bad, first at step 2")
    )
    expect(timeline.get_by_label("Scalar drawn over the timeline")).to_contain_text("cross_entropy")
    timeline.get_by_role("button", name="Zoom in").click()
    expect(timeline.get_by_role("button", name="All")).to_be_enabled()


def test_the_graph_shows_what_is_around(page: Page) -> None:
    page.get_by_role("tab", name="Graph").click()
    graph = panel(page, "Graph")
    for op in (
        "Log, .*in focus, bad, origin of the bad value",
        "Mul, .*on the bad path",
        "function probabilities",
    ):
        expect(graph.get_by_role("button", name=re.compile(f"^{op}"))).to_be_visible()
    graph.get_by_role("button", name=re.compile("^Mul, ")).click()
    expect(chosen_row(page)).to_contain_text("Mul")


def test_the_stack_leads_to_the_line(page: Page) -> None:
    page.get_by_role("tab", name="Stack trace").click()
    stack = panel(page, "Stack trace")
    expect(stack).to_contain_text("cross_entropy")
    expect(stack).to_contain_text("digits_mlp.py")


def test_everything_can_be_done_by_key(page: Page) -> None:
    expect(title(page)).to_have_text("Log:0")
    page.keyboard.press("n")
    expect(title(page)).to_have_text("mul:0")
    page.keyboard.press("p")
    expect(title(page)).to_have_text("Log:0")
    place = int(chosen_row(page).get_attribute("aria-rowindex") or 0)
    page.keyboard.press("j")
    expect(chosen_row(page)).to_have_attribute("aria-rowindex", str(place + 1))
    expect(title(page)).not_to_have_text("Log:0")
    page.keyboard.press("k")
    expect(chosen_row(page)).to_have_attribute("aria-rowindex", str(place))
    expect(title(page)).to_have_text("Log:0")
    page.keyboard.press("/")
    expect(page.get_by_role("combobox", name=re.compile("^Search"))).to_be_focused()
    page.keyboard.type("Softmax")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Next alert")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_an_address_brings_a_colleague_to_the_same_place(page: Page, open_page: Callable[..., Page]) -> None:
    panel(page, "Tensors").get_by_label("Op type").fill("Mul")
    verdict(page).get_by_role("button", name="Mul (NaN)").click()
    page.get_by_role("tab", name="Graph").click()
    expect(title_of_graph(page)).to_be_visible()
    other = open_page(page.url)
    expect(panel(other, "Tensors").get_by_label("Op type")).to_have_value("Mul")
    expect(title_of_graph(other)).to_be_visible()
    expect(chosen_row(other)).to_contain_text("Mul")


def title_of_graph(page: Page) -> Locator:
    return panel(page, "Graph").get_by_role("button", name=re.compile("^Mul, .*in focus"))


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_it_is_as_dark_as_the_system_until_one_chooses(open_page: Callable[..., Page], demo: str, scheme: str) -> None:
    page = open_page(demo, color_scheme=scheme)
    expect(verdict(page)).to_be_visible()
    assert (brightness(page) < 100) == (scheme == "dark")
    page.get_by_role("button", name=re.compile("^Change to")).click()
    assert (brightness(page) < 100) == (scheme == "light")
    page.reload()
    expect(verdict(page)).to_be_visible()
    assert (brightness(page) < 100) == (scheme == "light"), "the choice is remembered"


def brightness(page: Page) -> float:
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    red, green, blue = (int(number) for number in re.findall(r"\d+", colour)[:3])
    return (red + green + blue) / 3


@pytest.mark.parametrize("width", [1280, 900])
def test_nothing_sticks_out(open_page: Callable[..., Page], demo: str, width: int) -> None:
    page = open_page(demo, viewport={"width": width, "height": 800})
    expect(marked_line(page)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
