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

from tensorsleuth.page import built
from tensorsleuth.tokens.vocabulary import of_tokens


def verdict_view(page: Page) -> None:
    """As it opens."""


def graph_view(page: Page) -> None:
    page.keyboard.press("g")
    expect(panel(page, "Graph").get_by_role("button", name=re.compile("^Log, "))).to_be_visible()


def tensors_view(page: Page) -> None:
    panel(page, "Tensors").get_by_label("Health").select_option(label="NaN or ∞")
    page.get_by_role("button", name="Enlarge Tensors").click()


VIEWS: dict[str, tuple[Callable[[Page], None], dict[str, Any]]] = {
    "page-dark": (verdict_view, {"color_scheme": "dark"}),
    "page-light": (verdict_view, {"color_scheme": "light"}),
    "page-graph": (graph_view, {"color_scheme": "dark"}),
    "page-tensors": (tensors_view, {"color_scheme": "light"}),
}


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


INSIDE: dict[str, tuple[Callable[[Page], None], dict[str, Any]]] = {
    "page-attention": (attention_view, {"color_scheme": "light"}),
    "page-layers": (layers_view, {"color_scheme": "dark"}),
}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    inside(folder)
    with tempfile.TemporaryDirectory() as scratch:
        logdir = Path(scratch)
        recording.demo(logdir)
        run = next(path.name for path in logdir.iterdir())
        with serving(logdir, files=built.load()) as server, browsing() as browser:
            for name, (prepare, options) in VIEWS.items():
                with watched_page(browser, **options) as watched:
                    watched.page.goto(f"http://127.0.0.1:{server.port}/#run={run}")
                    snap(watched.page, prepare, folder / f"{name}.png")
                    assert watched.wrong == [], watched.wrong


def inside(folder: Path) -> None:
    """Of a Transformer that trained well."""
    with tempfile.TemporaryDirectory() as scratch:
        logdir = Path(scratch)
        recording.transformer(logdir)
        with serving(logdir, files=built.load()) as server, browsing() as browser:
            server.shelf.vocabulary = of_tokens(recording.WORDS)
            for name, (prepare, options) in INSIDE.items():
                with watched_page(browser, **options) as watched:
                    watched.page.goto(f"http://127.0.0.1:{server.port}/")
                    snap(watched.page, prepare, folder / f"{name}.png", "no bad value")
                    assert watched.wrong == [], watched.wrong


def snap(page: Page, prepare: Callable[[Page], None], target: Path, said: str = "takes log(0)") -> None:
    expect(verdict(page)).to_contain_text(said)
    expect(marked_line(page)).to_be_visible()
    page.wait_for_load_state("networkidle")
    prepare(page)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(300)  # charts are drawn in the next frames
    page.screenshot(path=target)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
