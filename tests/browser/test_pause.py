"""A real program, paused in the middle of a step, and driven from the page to its own end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from playwright.sync_api import Locator, Page, expect
from tests.browser.looking import chosen_row, marked_line, panel
from tests.browser.recording import QUIET
from tests.integration.training_program import PROGRAM
from tests.unit.serving import Serving

ITSELF = f"""\
import tensorsleuth

tensorsleuth.record()
tensorsleuth.break_when("grad_norm > 100", then="pause")
{PROGRAM}"""
LONG = 120  # seconds: longer than anything takes, even on a busy machine
PAUSES = LONG * 1000  # the same for the browser, in milliseconds


@contextmanager
def paused(*command: object, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A program that has said that it is paused."""
    environment = {**os.environ, **QUIET, "SLEUTH_LOGDIR": str(folder / "runs"), "SLEUTH_PAUSE_TIMEOUT": "0"}
    pipes = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "start_new_session": True,
    }
    process = subprocess.Popen([sys.executable, *map(str, command)], text=True, env=environment, **pipes)  # type: ignore[call-overload]
    try:
        said = ""
        while "sleuth view" not in said:
            line = process.stderr.readline()
            assert line, f"it ended without a pause: {said}"
            said += line
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # what `sleuth run` started, too
        process.communicate()


def bar(page: Page) -> Locator:
    return panel(page, "Paused program")


def asked(page: Page, command: str) -> Locator:
    """Type a command; the answer to it."""
    field = page.get_by_label("Command", exact=True)
    field.fill(command)
    field.press("Enter")
    told = page.locator(".console-one").filter(has_text=command).last
    return told.locator(".console-answer")


def answered(page: Page) -> None:
    """The page hears of a pause by itself, maybe before the command that led there is answered; then comes the next."""
    expect(bar(page).get_by_role("button", name="Continue")).to_be_enabled(timeout=PAUSES)


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(PROGRAM.splitlines(), 1) if text in line)


def test_a_paused_program_is_driven_from_the_page(
    tmp_path: Path, served: Callable[[Path], Serving], open_page: Callable[..., Page]
) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    sleuth = ("-m", "tensorsleuth.cli.main", "run", "--quiet", "--break", "grad_norm > 100", tmp_path / "train.py")
    with paused(*sleuth, folder=tmp_path) as program:
        page = open_page(f"http://127.0.0.1:{served(tmp_path / 'runs').port}/")
        line = line_of("tf.matmul")
        where = re.compile(rf"Paused at grad_norm > 100 on gradient_tape/MatMul/MatMul:0 .*train\.py:{line}, step 0")
        expect(bar(page)).to_contain_text(where, timeout=PAUSES)
        expect(chosen_row(page)).to_contain_text("MatMul", timeout=PAUSES)
        expect(marked_line(page)).to_contain_text("tf.matmul", timeout=PAUSES)

        page.keyboard.press(":")
        expect(page.get_by_label("Command", exact=True)).to_be_focused()
        expect(asked(page, "eval np.abs(x).max() / 2")).to_contain_text("1010.0", timeout=PAUSES)
        expect(asked(page, "pt [0, :]")).to_contain_text("[1010.]", timeout=PAUSES)
        expect(asked(page, "ps")).to_contain_text("tf.matmul(x, weights)", timeout=PAUSES)
        page.keyboard.press("Escape")

        bar(page).get_by_role("button", name="Step").click()
        expect(bar(page)).to_contain_text("step 1", timeout=PAUSES)
        answered(page)
        page.get_by_label("Condition").fill("size >= 0 and step >= 3")
        page.keyboard.press("Enter")
        expect(bar(page)).to_contain_text("step 3", timeout=PAUSES)
        page.get_by_label("Condition").blur()
        answered(page)

        page.keyboard.press("C")
        expect(bar(page)).to_have_count(0, timeout=PAUSES)
        out, _ = program.communicate(timeout=LONG)
        assert out.endswith("\nfinished\n") and program.returncode == 0
        expect(page.get_by_role("banner")).to_contain_text("exit 0", timeout=PAUSES)
        expect(bar(page)).to_have_count(0)


def test_a_program_that_dies_while_it_is_paused(
    tmp_path: Path, served: Callable[[Path], Serving], open_page: Callable[..., Page]
) -> None:
    (tmp_path / "train.py").write_text(ITSELF)
    with paused(tmp_path / "train.py", folder=tmp_path) as program:
        page = open_page(f"http://127.0.0.1:{served(tmp_path / 'runs').port}/")
        answered(page)
        program.kill()
        expect(bar(page)).to_contain_text("died while it was paused at grad_norm > 100", timeout=PAUSES)
        expect(bar(page).get_by_role("button", name="Continue")).to_have_count(0)
