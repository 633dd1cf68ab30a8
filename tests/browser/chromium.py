"""Where Chromium is, and a page in it that complains aloud."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

NAMES = ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--font-render-hinting=none"]
LONG = 90_000  # milliseconds: the machine may be busy
MISSING = (
    "the browser tests need Chromium, and there is none on PATH. Install it: make chromium (as root, on Debian), "
    "or set SLEUTH_CHROMIUM to one; SLEUTH_NO_BROWSER=1 leaves these tests out."
)
VIOLATIONS = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`refused by the policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""


def executable() -> str | None:
    named = os.environ.get("SLEUTH_CHROMIUM")
    return named or next((found for found in map(shutil.which, NAMES) if found), None)


@contextmanager
def browsing() -> Iterator[Browser]:
    """Chromium, without a window."""
    found = executable()
    if found is None:
        raise RuntimeError(MISSING)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS, timeout=LONG)
        yield browser
        browser.close()


@dataclass
class Watched:
    """A page, and all that went wrong in it."""

    page: Page
    forgiven: str = "nothing"  # complaints with these words in them
    wrong: list[str] = field(default_factory=list)

    def listen(self) -> None:
        self.page.add_init_script(VIOLATIONS)
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.wrong.append(f"uncaught: {error}"))
        self.page.on("dialog", self._dialog)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and self.forgiven not in message.text:
            self.wrong.append(f"console {message.type}: {message.text} ({message.location.get('url', '')})")

    def _dialog(self, dialog: Any) -> None:
        self.wrong.append(f"a script of the trace ran: {dialog.message}")
        dialog.dismiss()


@contextmanager
def watched_page(browser: Browser, forgive: str = "nothing", **options: Any) -> Iterator[Watched]:
    """A page of its own, 1280 by 800 where nothing else is asked for."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
    context.set_default_timeout(LONG)
    watched = Watched(context.new_page(), forgive)
    watched.listen()
    try:
        yield watched
    finally:
        context.close()
