"""A program that is still running: the page follows it, from healthy to its first bad value to its end."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, expect
from tests.browser.looking import panel, verdict
from tests.browser.recording import QUIET
from tests.unit.serving import Serving

PROGRAM = """
import sys
import tensorflow as tf

weights = tf.Variable([1.0, 2.0])

@tf.function
def step(x):
    weights.assign(tf.math.log(x) + weights)
    return tf.reduce_sum(weights)

for line in sys.stdin:
    step(tf.constant([float(line), 1.0]))
    print("done", flush=True)
"""


class Program:
    """Takes a step when it is told to."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def step(self, value: float) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{value}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(240) == 0


@contextmanager
def running(folder: Path) -> Iterator[Program]:
    (folder / "stepwise.py").write_text(PROGRAM)
    command = [
        sys.executable,
        "-m",
        "tensorsleuth.cli.main",
        "run",
        "--logdir",
        str(folder / "runs"),
        str(folder / "stepwise.py"),
    ]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, text=True, env={**os.environ, **QUIET}, **pipes)  # type: ignore[call-overload]
    try:
        yield Program(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()


def count(page: Page) -> int:
    said = panel(page, "Tensors").get_by_text(re.compile(r"^[\d,]+ tensors?$")).inner_text()
    return int(re.sub(r"\D", "", said))


def test_the_page_follows_a_program(
    tmp_path: Path, served: Callable[[Path], Serving], open_page: Callable[..., Page]
) -> None:
    with running(tmp_path) as program:
        for _ in range(3):
            program.step(1.0)
        page = open_page(f"http://127.0.0.1:{served(tmp_path / 'runs').port}/")
        expect(verdict(page)).to_contain_text(re.compile("healthy|no problem found", re.I))
        expect(page.get_by_role("banner")).to_contain_text("Live")
        before = count(page)
        for _ in range(3):
            program.step(1.0)
        page.wait_for_function(f"() => !document.body.innerText.includes('{before} tensors')")
        assert count(page) > before
        program.step(0.0)
        expect(verdict(page)).to_contain_text(re.compile(r"stepwise\.py:9"))
        program.end()
        expect(page.get_by_role("banner")).to_contain_text("exit 0")
