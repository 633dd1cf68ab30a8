"""Rows about the page, in real Chromium on a run of 1,000,000 events: first sight, filters and jumps, memory."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from playwright.sync_api import Browser, Page
from tests.browser.chromium import browsing, watched_page

from bench.reading import MILLION
from bench.row import Bench, Result

RUN = "million"
SERVER = """
import sys
from pathlib import Path
from tensorsleuth.ui.web import page_files as built
from tensorsleuth.ui.web.server.access_control import make_access_policy
from tensorsleuth.ui.web.server.server import PageServer, listen
from tensorsleuth.ui.web.server.run_cache import RunCache
bound = listen("127.0.0.1", 0)
port = bound.getsockname()[1]
print(port, flush=True)
PageServer(RunCache(Path(sys.argv[1])), built.load(), make_access_policy("127.0.0.1", port)).run(sockets=[bound])
"""
VERDICT = "() => /Healthy|Problem/.test(document.querySelector('#verdict, [aria-label=Verdict]')?.innerText ?? '')"
PAINTED = f"""() => new Promise((done) => {{
  const seen = {VERDICT};
  const look = () => seen() ? requestAnimationFrame(() => done(performance.now())) : requestAnimationFrame(look);
  look();
}})"""
MOVE = """([change, test]) => new Promise((done, fail) => {
  setTimeout(() => fail(`not seen within 10 s: ${test}`), 10000);
  const seen = new Function(`return ${test}`)();
  const parts = new URLSearchParams(location.hash.slice(1));
  for (const [key, value] of Object.entries(change)) value === null ? parts.delete(key) : parts.set(key, value);
  const began = performance.now();
  location.hash = parts.toString();
  const end = () => done(performance.now() - began);
  const look = () => requestAnimationFrame(seen() ? end : look);
  requestAnimationFrame(look);
})"""
ROWS = "[...document.querySelectorAll('[role=row][aria-rowindex]')].map((row) => row.innerText)"
FOOT = "(document.querySelector('.list-foot')?.innerText ?? '')"
CHOSEN = "(document.querySelector('[role=row][aria-selected=true]')?.innerText ?? '')"


@dataclass(frozen=True)
class Move:
    """A change of the address, as a filter or a jump makes it, and what is then on screen."""

    name: str
    change: dict[str, str | None]
    seen: str


def moves(turn: int) -> Iterator[Move]:
    """Others in each turn: what was asked before is kept, and would take no time."""
    op = ("Log", "MatMul", "Sum", "Relu", "Sub", "RealDiv", "Mul")[turn % 7]
    layer, step, tensor = f"layer_{10 + turn}", str(500 + 50 * turn), str(123_456 + 70_001 * turn)
    yield Move("op", {"op": op}, _all_rows(op))
    yield Move("layer", {"op": None, "layer": layer}, _all_rows(layer))
    yield Move("step", {"layer": None, "from": step, "to": step}, _all_rows(step))
    yield Move("bad", {"from": None, "to": None, "health": "bad"}, f"() => {FOOT}.startsWith('100 tensors')")
    first = {"health": None, "sort": "name", "desc": "1" if turn % 2 else None}
    yield Move("sort", first, _all_rows("Sum" if turn % 2 else "AddV2"))
    yield Move("jump", {"sort": None, "desc": None, "tensor": f"0.{tensor}"}, f"() => {CHOSEN}.includes('{tensor}')")


def _all_rows(text: str) -> str:
    """Whether every row in sight has this text in it."""
    return f"() => ((rows) => rows.length > 5 && rows.every((row) => row.includes('{text}')))({ROWS})"


def first_paint(bench: Bench) -> Result:
    """From navigation, to a server that has not opened the run, until the verdict is on screen."""
    logdir = _million(bench)
    taken = []
    with browsing() as browser:
        for i in range(bench.rounds(7)):
            bench.progress(f"first paint, round {i + 1}")
            with _server(logdir) as (port, _):
                taken.append(_paint(browser, port))
    return {"ours": median(taken), "rounds": taken}


def filters(bench: Bench) -> Result:
    """The slowest kind of filter or jump, in the median of its rounds."""
    taken, _ = _use(bench)
    medians = {name: median(times) for name, times in taken.items()}
    return {"ours": max(medians.values()), "medians": medians}


def memory(bench: Bench) -> Result:
    """Peak resident memory of the server that was asked all that, the mapped file included."""
    _, peak = _use(bench)
    return {"ours": peak}


def _use(bench: Bench) -> tuple[dict[str, list[float]], float]:
    logdir = _million(bench)
    taken: dict[str, list[float]] = {}
    with browsing() as browser, _server(logdir) as (port, process), watched_page(browser) as watched:
        _open(watched.page, port)
        for i in range(bench.rounds(7)):
            bench.progress(f"filters and jumps, round {i + 1}")
            for move in moves(i):
                taken.setdefault(move.name, []).append(_move(watched.page, move))
        peak = _peak(process.pid)
    return taken, peak


def _million(bench: Bench) -> Path:
    synthetic: Any = importlib.import_module("tensorsleuth.trace.storage.synthetic")
    bench.progress(f"writing {MILLION:,} events")
    synthetic.write(bench.folder / RUN, events=MILLION, bad=100)
    return bench.folder


@contextmanager
def _server(logdir: Path) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    command = [sys.executable, "-c", SERVER, str(logdir)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline()), process
        finally:
            process.terminate()


def _paint(browser: Browser, port: int) -> float:
    """In seconds; by the browser's own clock, which starts with the navigation."""
    with watched_page(browser) as watched:
        watched.page.goto(f"http://127.0.0.1:{port}/#run={RUN}", wait_until="commit")
        return float(watched.page.evaluate(PAINTED)) / 1000


def _open(page: Page, port: int) -> None:
    page.goto(f"http://127.0.0.1:{port}/#run={RUN}")
    page.evaluate(PAINTED)
    page.wait_for_load_state("networkidle")


def _move(page: Page, move: Move) -> float:
    return float(page.evaluate(MOVE, [move.change, move.seen])) / 1000


def _peak(pid: int) -> float:
    """In MB."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
