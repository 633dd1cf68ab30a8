"""What a program watched and logged, on the page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect
from tests.browser import recording
from tests.browser.looking import panel
from tests.unit.serving import Serving

PROGRAM = """
import numpy as np
import tensorflow as tf
import tensorsleuth

weights = tf.Variable(np.linspace(-1, 1, 40).astype("float32").reshape(8, 5), name="layer/weights")

@tf.function
def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.matmul(x, weights) ** 2)
    weights.assign_sub(0.1 * tape.gradient(loss, weights))
    tensorsleuth.watch(loss, name="loss")
    tensorsleuth.log("loss {loss:.3f}", loss=loss)

for number in range(12):
    step(tf.ones([4, 8]))
tensorsleuth.watch(tf.constant(np.arange(48).reshape(6, 8) / 48.0), name="ramp", what="image")
tensorsleuth.watch(tf.constant(["to be", "or not"]), name="words")
"""


def _watched(logdir: Path) -> None:
    program = logdir.parent / "watch.py"
    program.write_text(PROGRAM)
    recording.sleuth("run", "--logdir", logdir, "--watch", "layer/weights", "--watch-every", 2, program)


def test_what_was_watched_is_drawn(
    shared: Path, served: Callable[[Path], Serving], open_page: Callable[..., Page]
) -> None:
    page = open_page(f"http://127.0.0.1:{served(recording.once(shared / 'watched', _watched)).port}/")
    page.get_by_role("tab", name="Watched").click()
    watched = panel(page, "Watched")
    choice = watched.get_by_role("combobox")
    choice.select_option(label="variable: layer/weights · 6 looks")
    expect(watched.get_by_role("img", name="Update to weight, 6 points. Last: step 10")).to_be_visible()
    expect(watched.get_by_role("img", name="6 histograms. The last: step 10 · 40 values")).to_be_visible()
    box = watched.locator("canvas.ridges").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 40, box["y"] + 4)
    expect(watched.get_by_text("step 0 · 40 values")).to_be_visible()
    choice.select_option(label="point: loss · 12 looks")
    expect(watched.get_by_role("img", name="Value, 12 points. Last: step 11")).to_be_visible()
    choice.select_option(label="point: ramp · 1 look")
    image = watched.get_by_alt_text("Image 1 of the latest look at ramp")
    expect(image).to_be_visible()
    assert image.evaluate("image => [image.naturalWidth, image.naturalHeight]") == [8, 6]
    choice.select_option(label="point: words · 1 look")
    expect(watched.get_by_text("or not")).to_be_visible()
    choice.select_option(label="log: 12 messages")
    expect(watched.get_by_role("row")).to_have_count(12)
    expect(watched.get_by_role("row").first).to_contain_text("watch.py:14")


def test_where_nothing_was_watched_it_says_how(page: Page) -> None:
    page.get_by_role("tab", name="Watched").click()
    expect(panel(page, "Watched").get_by_text("Nothing was watched")).to_be_visible()
    expect(panel(page, "Watched").get_by_text("--watch-every 10")).to_be_visible()
