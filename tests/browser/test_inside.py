"""Attention and layers of a Transformer on the page: what was seen inside of the model while it trained."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser import recording
from tests.browser.looking import marked_line, panel, point, title
from tests.unit.serving import Serving

from tensorsleuth.data.tokens.vocabulary import vocabulary_of_tokens


@pytest.fixture
def transformer(shared: Path) -> Path:
    return recording.once(shared / "transformer", recording.transformer)


@pytest.fixture
def page(transformer: Path, served: Callable[[Path], Serving], open_page: Callable[..., Page]) -> Page:
    running = served(transformer)
    running.shelf.vocabulary = vocabulary_of_tokens(recording.WORDS)
    return open_page(f"http://127.0.0.1:{running.port}/")


def test_heads_are_drawn_chosen_and_lead_to_their_line(page: Page) -> None:
    page.get_by_role("tab", name="Attention").click()
    attention = panel(page, "Attention")
    expect(attention.get_by_role("radio")).to_have_count(4)
    weights = attention.get_by_role("img", name=re.compile("^Attention weights of head 0, sample 0, step 140: 14 "))
    expect(weights).to_be_visible()
    point(page, weights, 0.4, 0.6)
    expect(attention.locator(".heat-now")).to_have_text(
        re.compile(r"^query \d+ “[\w.]+” → key \d+ “[\w.]+”: [\d.e−]+$")
    )
    attention.get_by_role("radio", name="Head 2").click()
    expect(attention.get_by_role("img", name=re.compile("^Attention weights of head 2,"))).to_be_visible()
    attention.get_by_role("radio", name="Head 2").press("ArrowDown")
    expect(attention.get_by_label("Layer", exact=True).locator("option:checked")).to_contain_text(
        "block_1/attention · 4 heads · 14×14"
    )
    expect(
        attention.get_by_role("img", name=re.compile("^Entropy, 13 points. Last of head 2: step 140 · 0"))
    ).to_be_attached()
    attention.get_by_label("Step", exact=True).select_option(label="step 16")
    attention.get_by_label("Sample", exact=True).select_option(label="sample 1")
    expect(attention.get_by_role("img", name=re.compile("head 2, sample 1, step 16:"))).to_be_visible()
    attention.get_by_role("button", name=re.compile(r"little_transformer\.py:\d+")).click()
    expect(marked_line(page)).to_contain_text("tf.nn.softmax")
    page.get_by_role("tab", name="Tensor", exact=True).click()
    expect(title(page)).to_have_text("block_1/attention/Softmax:0")
    page.reload()
    page.get_by_role("tab", name="Attention").click()
    expect(attention.get_by_role("img", name=re.compile("head 2, sample 1, step 16:"))).to_be_visible()


def test_the_picture_of_the_layers(page: Page) -> None:
    expect(page.get_by_role("tab", name="Layers")).to_be_visible()
    page.keyboard.press("y")
    layers = panel(page, "Layers")
    drawn = layers.get_by_role("img", name="Picture of 8 layers by 13 looks, from step 0 to 140: norm.")
    expect(drawn).to_be_visible()
    layers.get_by_label("Measure").select_option(label="dead units")
    layers.get_by_role("group").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowLeft"):
        page.keyboard.press(key)
    said = layers.locator(".heat-now")
    expect(said).to_have_text(re.compile(r"^block_0/hidden 16×14×64 · step 120 · dead units [\d.]+ % · norm [\d.]+ · "))
    page.keyboard.press("Enter")
    expect(marked_line(page)).to_contain_text("hidden = tf.nn.relu")
    layers.get_by_label("Of what").select_option(label="gradients")
    expect(layers.get_by_role("img", name=re.compile("^Picture of 13 gradients by 13 looks"))).to_be_visible()
    point(page, layers.get_by_role("img"), 0.9, 0.02)
    expect(said).to_have_text(re.compile(r"^scores 32×17 · step 1\d\d · norm "))  # the last layer comes first
    layers.get_by_label("Of what").select_option(label="updates")
    expect(layers.get_by_role("img", name=re.compile("update to weight"))).to_be_visible()
    layers.get_by_role("img").click(position={"x": 20, "y": 8})
    expect(marked_line(page)).to_contain_text("tf.gather(table")


def test_it_is_taken_along_into_an_exported_page(
    transformer: Path, tmp_path: Path, open_page: Callable[..., Page]
) -> None:
    vocabulary, target = tmp_path / "vocab.txt", tmp_path / "page.html"
    vocabulary.write_text("\n".join(recording.WORDS))
    recording.sleuth("view", "--logdir", transformer, "--vocab", vocabulary, "--export", target)
    page = open_page(f"file://{target}")
    page.get_by_role("tab", name="Attention").click()
    attention = panel(page, "Attention")
    attention.get_by_role("radio", name="Head 3").click()
    weights = attention.get_by_role("img", name=re.compile("^Attention weights of head 3, sample 0, step 140"))
    expect(weights).to_be_visible()
    point(page, weights, 0.4, 0.6)
    expect(attention.locator(".heat-now")).to_contain_text(re.compile("query .* “.*” → key"))
    attention.get_by_label("Step", exact=True).select_option(label="step 2")
    expect(attention).to_contain_text("not taken along")
    page.get_by_role("tab", name="Layers").click()
    expect(panel(page, "Layers").get_by_role("img", name=re.compile("^Picture of 8 layers"))).to_be_visible()


def test_a_run_without_looks_has_no_tabs_for_them_and_says_why(demo: str, open_page: Callable[..., Page]) -> None:
    page = open_page(demo)
    expect(panel(page, "Timeline").get_by_role("img")).to_be_visible()
    expect(page.get_by_role("tab", name="Attention")).to_have_count(0)
    page.keyboard.press("a")
    expect(panel(page, "Attention")).to_contain_text("No attention was seen")
    expect(page.get_by_role("tab", name="Attention")).to_be_visible()
