"""The flame chart of a step: what ran when, by mouse and by key."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect
from tests.browser import recording
from tests.browser.looking import panel, title
from tests.unit.serving import Serving

PROGRAM = """
import tensorflow as tf

weights = tf.Variable(tf.ones([400, 400]) * 1e-3)

@tf.function
def train(x):
    with tf.GradientTape() as tape, tf.name_scope("encoder"):
        loss = tf.reduce_mean(tf.matmul(x, weights))
    weights.assign_sub(0.1 * tape.gradient(loss, weights))

for number in range(5):
    train(tf.ones([400, 400]))
"""


def _recorded(logdir: Path) -> None:
    program = logdir.parent / "timed.py"
    program.write_text(PROGRAM)
    recording.sleuth("run", "--logdir", logdir, program)


def test_a_step_is_drawn_zoomed_and_leads_to_its_tensors(
    shared: Path, served: Callable[[Path], Serving], open_page: Callable[..., Page]
) -> None:
    page = open_page(f"http://127.0.0.1:{served(recording.once(shared / 'timed', _recorded)).port}/")
    page.keyboard.press("f")
    time = panel(page, "Time")
    drawn = time.get_by_role("img", name=re.compile(r"^Flame chart of step [1-4], .*: \d+ threads?, \d+ bars"))
    expect(drawn).to_be_visible()
    expect(time.get_by_role("list", name="What the step's time went into")).to_contain_text("ops in functions")
    everything = time.get_by_role("button", name="All")
    expect(everything).to_be_disabled()
    time.get_by_role("group", name=re.compile("^Flame chart")).focus()
    page.keyboard.press("+")
    expect(everything).to_be_enabled()
    page.keyboard.press("Home")
    expect(everything).to_be_disabled()
    time.get_by_label("Which step").select_option("0")
    expect(time.get_by_role("img", name=re.compile("^Flame chart of step 0,"))).to_be_visible()
    expect(page).to_have_url(re.compile("timed=0"))
    expect(time.get_by_role("button", name="The step before")).to_be_disabled()
    time.get_by_role("button", name="The next step").click()
    expect(time.get_by_role("img", name=re.compile("^Flame chart of step 1,"))).to_be_visible()
    time.get_by_role("button", name="Table").click()
    row = time.get_by_role("row").filter(has_text="MatMul").first
    expect(row).to_contain_text("timed.py:9")
    row.get_by_role("button").click()
    expect(title(page)).to_contain_text("encoder/MatMul")
