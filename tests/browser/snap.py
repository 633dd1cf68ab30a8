"""`python -m tests.browser.snap FOLDER`: pictures of main views for docs/; look at them first."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect
from tests.browser import recording
from tests.browser.chromium import browsing, watched_page
from tests.browser.looking import marked_line, panel, point, verdict
from tests.unit.serving import serving

from tensorsleuth.data.tokens.vocabulary import vocabulary_of_tokens
from tensorsleuth.ui.web import page_files


def verdict_view(page: Page) -> None:
    """As it opens."""


def graph_view(page: Page) -> None:
    page.keyboard.press("g")
    expect(panel(page, "Graph").get_by_role("button", name=re.compile("^Log, "))).to_be_visible()


def tensors_view(page: Page) -> None:
    panel(page, "Tensors").get_by_label("Health").select_option(label="NaN or ∞")
    page.get_by_role("button", name="Enlarge Tensors").click()


def memory_view(page: Page) -> None:
    page.keyboard.press("m")
    page.get_by_role("button", name="Enlarge Memory").click()
    expect(panel(page, "Memory").get_by_role("heading", level=4)).to_contain_text("the peak")


Views = dict[str, tuple[Callable[[Page], None], dict[str, Any]]]
VIEWS: Views = {
    "page-dark": (verdict_view, {"color_scheme": "dark"}),
    "page-light": (verdict_view, {"color_scheme": "light"}),
    "page-graph": (graph_view, {"color_scheme": "dark"}),
    "page-tensors": (tensors_view, {"color_scheme": "light"}),
}
MEMORY: Views = {"page-memory": (memory_view, {"color_scheme": "dark", "viewport": {"width": 1280, "height": 620}})}


def attention_view(page: Page) -> None:
    page.keyboard.press("a")
    attention = panel(page, "Attention")
    attention.get_by_role("radio").first.press("ArrowDown")
    page.get_by_role("button", name="Enlarge Attention").click()
    point(page, attention.locator(".weights canvas"), 0.53, 0.71)


def layers_view(page: Page) -> None:
    page.get_by_role("tab", name="Layers").click()
    panel(page, "Layers").get_by_label("Of what").select_option(label="gradients")
    point(page, panel(page, "Layers").get_by_role("img", name=re.compile("gradients")), 0.5, 0.4)


INSIDE: Views = {
    "page-attention": (attention_view, {"color_scheme": "light"}),
    "page-layers": (layers_view, {"color_scheme": "dark"}),
}


RUNS = (
    (recording.demo, VIEWS, "takes log(0)"),
    (recording.trained, MEMORY, "Healthy"),
    (recording.transformer, INSIDE, "Healthy"),
)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for record, views, words in RUNS:
            logdir = Path(scratch) / record.__name__
            logdir.mkdir()
            record(logdir)
            snap_all(logdir, views, words, folder)


def snap_all(logdir: Path, views: Views, words: str, folder: Path) -> None:
    with serving(logdir, files=page_files.load()) as server, browsing() as browser:
        server.shelf.vocabulary = vocabulary_of_tokens(recording.WORDS)
        for name, (prepare, options) in views.items():
            with watched_page(browser, **options) as watched:
                watched.page.goto(f"http://127.0.0.1:{server.port}/")
                expect(verdict(watched.page)).to_contain_text(words)
                snap(watched.page, prepare, folder / f"{name}.png")
                assert watched.wrong == [], watched.wrong


def snap(page: Page, prepare: Callable[[Page], None], target: Path) -> None:
    expect(marked_line(page)).to_be_visible()
    page.wait_for_load_state("networkidle")
    prepare(page)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(300)  # charts are drawn in the next frames
    page.screenshot(path=target)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
