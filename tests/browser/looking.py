"""Parts of the page, by what assistive technology calls them."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page


def panel(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


def verdict(page: Page) -> Locator:
    return panel(page, "Verdict")


def chosen_row(page: Page) -> Locator:
    """The row of the list that is in focus."""
    return panel(page, "Tensors").locator('[role="row"][aria-selected="true"]')


def marked_line(page: Page) -> Locator:
    return panel(page, "Source").locator('[aria-current="true"]')


def title(page: Page) -> Locator:
    """The name of the tensor in focus, in its panel."""
    return panel(page, "Tensor").get_by_role("heading", level=3)


def part(page: Page, key: str) -> str | None:
    """A part of the address."""
    found = re.search(rf"[#&]{key}=([^&]*)", page.url)
    return found.group(1) if found else None


def point(page: Page, canvas: Locator, right: float, down: float) -> None:
    """Move the pointer to a place in a canvas, in parts of its size."""
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * right, box["y"] + box["height"] * down)
