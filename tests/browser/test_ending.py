"""The end of a program that crashed, on the page: what its threads did, on to the line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect
from tests.browser import recording
from tests.browser.looking import marked_line, panel, verdict
from tests.unit.serving import Serving

PROGRAM = Path(__file__).parents[1] / "programs" / "endings" / "segfault_in_python_function.py"


def _crashed(logdir: Path) -> None:
    recording.sleuth("run", "--logdir", logdir, PROGRAM, check=False)


def test_a_crash_is_told_with_threads_stack_and_memory(
    shared: Path, served: Callable[[Path], Serving], open_page: Callable[..., Page]
) -> None:
    page = open_page(f"http://127.0.0.1:{served(recording.once(shared / 'crashed', _crashed)).port}/")
    said = verdict(page)
    expect(said).to_contain_text("Crashed: segmentation fault (SIGSEGV)")
    expect(said).to_contain_text("high: the process ended this way")
    threads = said.get_by_role("list", name="Threads")
    expect(threads).to_contain_text(re.compile(r"main thread: .*:16 EagerPyFunc, in train_step \(.*:20\)"))
    stack = said.get_by_role("list", name="Stack")
    expect(stack).to_contain_text(re.compile(r"crashed.*:9 in reads_nothing"))
    stack.get_by_text("crashed").click()
    expect(stack).to_contain_text("in string_at")
    threads.get_by_role("button", name=re.compile(":16$")).click()
    expect(marked_line(page)).to_contain_text("tf.py_function")
    said.get_by_role("button", name="Where it went").click()
    expect(panel(page, "Memory")).to_be_visible()
