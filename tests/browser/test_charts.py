"""What is drawn: the timeline, the tensor in focus, the graph, two runs beside each other; by mouse and by key."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser import recording
from tests.browser.looking import panel, part, title
from tests.unit.serving import Serving

LOOP = Path(__file__).parents[1] / "programs" / "relu_rnn_memory.py"
# Eight turns of the wheel without a pause: on a busy machine, `page.mouse.wheel` would pause between them.
TURNS = """canvas => {
  const { left, top } = canvas.getBoundingClientRect();
  const turn = { deltaY: -60, clientX: left + 300, clientY: top + 60, cancelable: true };
  for (let times = 0; times < 8; ++times) canvas.dispatchEvent(new WheelEvent("wheel", turn));
}"""


def _pair(logdir: Path) -> None:
    """Two runs of the demo that learn at different rates."""
    for rate in (0.008, 0.01):
        recording.sleuth("demo", "--logdir", logdir, "--max_steps", 3, "--learning_rate", rate)


def _with_values(logdir: Path) -> None:
    recording.sleuth("run", "--logdir", logdir, "--mode", "FULL_TENSOR", LOOP)


@pytest.fixture
def values(shared: Path, served: Callable[[Path], Serving], open_page: Callable[..., Page]) -> Page:
    """A loop whose state overflows, recorded with its values."""
    return open_page(f"http://127.0.0.1:{served(recording.once(shared / 'values', _with_values)).port}/")


@pytest.fixture
def pair(shared: Path, served: Callable[[Path], Serving]) -> tuple[str, list[str]]:
    logdir = recording.once(shared / "pair", _pair)
    names = sorted(path.name for path in logdir.iterdir() if path.is_dir())
    return f"http://127.0.0.1:{served(logdir).port}/", names


def _canvas(page: Page) -> Locator:
    return panel(page, "Timeline").locator("canvas")


def _stretch(page: Page) -> tuple[float, float] | None:
    found = part(page, "time")
    return None if found is None else (float(found.split("..")[0]), float(found.split("..")[1]))


def _settled(page: Page, zoomed: bool, before: str | None = None) -> tuple[float, float] | None:
    """The stretch on screen, once the address has it, and another one than before."""
    page.wait_for_function(
        "([zoomed, before]) => location.hash.includes('time=') === zoomed && location.hash !== before",
        arg=[zoomed, before],
    )
    return _stretch(page)


def test_the_wheel_zooms_at_the_pointer_and_a_drag_pans(page: Page) -> None:
    box = _canvas(page).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + 60)
    page.mouse.wheel(0, -400)
    near = _settled(page, True)
    assert near is not None and near[0] > 0
    before = page.evaluate("location.hash")
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 60, steps=5)
    page.mouse.up()
    moved = _settled(page, True, before)
    assert moved is not None and moved[0] < near[0]
    assert moved[1] - moved[0] == pytest.approx(near[1] - near[0], rel=0.01)
    page.mouse.dblclick(box["x"] + 20, box["y"] + 8)
    assert _settled(page, False) is None
    expect(title(page)).to_have_text("Log:0")


def test_bins_are_asked_for_once_the_hand_rests(page: Page) -> None:
    expect(_canvas(page)).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/timeline" in request.url else None)
    with page.expect_request(re.compile("/timeline.*from=")):
        _canvas(page).evaluate(TURNS)
    _settled(page, True)
    assert len(asked) in (1, 2)


def test_the_timeline_by_key_and_as_a_table(page: Page) -> None:
    timeline = panel(page, "Timeline")
    timeline.get_by_role("group", name=re.compile("^Timeline")).focus()
    for key in ("+", "+", "ArrowRight"):
        page.keyboard.press(key)
    assert _settled(page, True) is not None
    page.keyboard.press("Home")
    assert _settled(page, False) is None
    timeline.get_by_role("button", name="Table").click()
    row = timeline.get_by_role("row").filter(has_text="CPU:0")
    row.get_by_role("button").click()
    expect(title(page)).to_have_text("Log:0")  # the first bad one of the device


def test_a_click_on_a_lane_focuses_what_ran_there(page: Page) -> None:
    box = _canvas(page).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] - 60, box["y"] + box["height"] - 8)
    expect(page.locator(".chart-tip")).to_contain_text("bad")
    page.mouse.down()
    page.mouse.up()
    expect(title(page)).not_to_have_text("Log:0")
    assert part(page, "tensor") is not None


def test_history_leads_to_other_moments(page: Page) -> None:
    chart = panel(page, "Tensor").get_by_role("group", name=re.compile("^Chart over the run"))
    expect(chart.get_by_role("img")).to_have_attribute("aria-label", re.compile(r"^50 moments; 48 points with NaN"))
    chart.focus()
    page.keyboard.press("ArrowLeft")
    expect(panel(page, "Tensor")).to_contain_text("step 1")
    expect(panel(page, "Tensor")).to_contain_text("range")


def test_without_values_the_page_says_how_to_have_them(page: Page) -> None:
    expect(panel(page, "Tensor")).to_contain_text("Values were not recorded")
    expect(panel(page, "Tensor")).to_contain_text("sleuth run --mode FULL_TENSOR --op-regex Log")


def _infinities(tensor: Locator) -> tuple[int, int, int]:
    """How many its row counts, row and column of the first. Which values overflow depends on the processor's sums."""
    expect(tensor).to_contain_text(re.compile(r"∞ of 256 \(first at"))
    found = re.search(r"((?:\d+ [−+]∞,? )+)of 256 \(first at row (\d+), column (\d+)\)", tensor.inner_text())
    assert found is not None, tensor.inner_text()
    return sum(map(int, re.findall(r"\d+", found[1]))), int(found[2]), int(found[3])


def test_values_as_heat_map_histogram_and_numbers(values: Page) -> None:
    tensor = panel(values, "Tensor")
    cells, _, _ = _infinities(tensor)
    expect(
        tensor.get_by_role("img", name=re.compile(rf"^Heat map of 8 by 32 values.*\b{cells} cells? with NaN or inf"))
    ).to_be_visible()
    expect(tensor.get_by_role("img", name=re.compile("^Histogram from"))).to_be_visible()
    heat = tensor.get_by_role("group", name=re.compile("^Heat map"))
    heat.focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
        values.keyboard.press(key)
    expect(tensor.locator(".heat-now")).to_contain_text(re.compile(r"^\[0, 2\] = "))
    expect(tensor.get_by_role("list", name="Elements").get_by_role("listitem")).to_have_count(256)


def test_a_slice_and_one_that_makes_no_sense(values: Page, refused: list[str]) -> None:
    refused.append("slice=%5B99%5D")
    tensor = panel(values, "Tensor")
    field = tensor.get_by_label("Slice")
    _, row, column = _infinities(tensor)
    field.fill(f"[{row}, {column}:]")
    field.press("Enter")
    elements = tensor.get_by_role("list", name="Elements").get_by_role("listitem")
    expect(elements).to_have_count(32 - column)
    expect(elements.first).to_have_text(re.compile(rf"\[{row}, {column}\]\s*−?∞"))
    field.fill("[99]")
    field.press("Enter")
    expect(tensor.get_by_role("alert")).to_contain_text("99")
    expect(field).to_have_attribute("aria-invalid", "true")


def test_the_graph_of_a_loop_opens_closes_and_is_walked(values: Page) -> None:
    values.get_by_role("tab", name="Graph").click()
    graph = panel(values, "Graph")
    expect(graph.get_by_role("list", name="Legend")).to_contain_text("next iteration")
    expect(graph.get_by_role("list", name="Legend")).to_contain_text("fused or not recorded")
    loop = graph.get_by_role("button", name=re.compile("^loop while.*open"))
    loop.focus()
    values.keyboard.press("Enter")
    closed = graph.get_by_role("button", name=re.compile("^loop while.*closed"))
    expect(closed).to_have_attribute("aria-expanded", "false")
    expect(closed).to_be_focused()  # what had the focus is gone: it went to what stands in its place
    values.keyboard.press("Enter")
    node = graph.get_by_role("button", name=re.compile("^MatMul, .*in focus"))
    node.focus()
    values.keyboard.press("ArrowUp")
    expect(graph.locator("[data-node]:focus")).to_have_attribute("aria-label", re.compile("^ReadVariableOp"))
    values.keyboard.press("Enter")
    expect(graph.get_by_role("button", name=re.compile("^ReadVariableOp, .*in focus"))).to_be_visible()


def test_depth_shows_more_and_less(page: Page) -> None:
    page.get_by_role("tab", name="Graph").click()
    graph = panel(page, "Graph")
    ops = graph.locator("[data-node]")
    expect(ops.first).to_be_visible()
    before = ops.count()
    graph.get_by_role("button", name="Fewer consumers").click()
    expect(graph.get_by_role("group", name="Depth of consumers")).to_contain_text("1")
    expect(ops).not_to_have_count(before)
    assert ops.count() < before


def row_of(runs: Locator, name: str) -> Locator:
    """The row of a run. Two runs of one second are called NAME and NAME-2."""
    return runs.get_by_role("row").filter(has_text=re.compile(re.escape(name) + r"(?!-\d)"))


def test_two_runs_part(pair: tuple[str, list[str]], open_page: Callable[..., Page]) -> None:
    address, (here, there) = pair
    page = open_page(f"{address}#run={here}")
    page.get_by_role("button", name="Runs", exact=True).click()
    runs = panel(page, "Runs")
    expect(row_of(runs, here)).to_contain_text("this run")
    row_of(runs, there).get_by_role("button", name="Compare").click()
    parted = panel(page, "Compare").get_by_role("region", name="Where they part")
    expect(parted).to_contain_text("0.008 here, 0.01 there")
    parted.get_by_role("button").click()
    expect(panel(page, "Tensor")).to_contain_text("0.008")
    assert part(page, "whole") is None


def test_a_run_is_the_same_as_itself(pair: tuple[str, list[str]], open_page: Callable[..., Page]) -> None:
    address, (here, _) = pair
    page = open_page(f"{address}#run={here}&whole=compare&with={here}")
    expect(panel(page, "Compare")).to_contain_text("The two runs are the same")
