"""The terminal debugger, driven by keys in this process."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import ContentSwitcher, RichLog

from tensorsleuth.trace.reader import open_trace
from tensorsleuth.trace.storage import synthetic
from tensorsleuth.ui.debugger.debugger import Debugger
from tensorsleuth.ui.debugger.tensor_description import VALUE_KINDS
from tensorsleuth.ui.tui.app import DebuggerApp
from tensorsleuth.ui.tui.command_line import CommandLine
from tensorsleuth.ui.tui.details import cells_per_count
from tensorsleuth.ui.tui.help_screen import HelpScreen
from tensorsleuth.ui.tui.tensor_list import TensorList

EVENTS, BAD = 3000, 5
MILLION = 1_000_000

Play = Callable[[DebuggerApp, "Pilot[None]"], Awaitable[None]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic.write(tmp_path_factory.mktemp("runs") / "three-steps", EVENTS, BAD)


def played(run: Path, play: Play, size: tuple[int, int] = (80, 24)) -> None:
    """Opens the debugger, waits for its verdict, and plays."""

    async def main() -> None:
        app = DebuggerApp(Debugger(open_trace(run)))
        async with app.run_test(size=size) as pilot:
            await settled(app, pilot)
            await play(app, pilot)

    asyncio.run(main())


async def settled(app: DebuggerApp, pilot: Pilot[None]) -> None:
    """The panes show what was asked for, however long that takes."""
    await pilot.pause()
    while app._settle_timer is not None or any(not worker.is_finished for worker in app.workers):
        await pilot.pause(0.01)
    await pilot.pause()


async def press(app: DebuggerApp, pilot: Pilot[None], *keys: str) -> None:
    await pilot.press(*keys)
    await settled(app, pilot)


async def typed(app: DebuggerApp, pilot: Pilot[None], line: str) -> None:
    await pilot.press("colon")
    app.query_one(CommandLine).value = line
    await press(app, pilot, "enter")


def screen(app: DebuggerApp) -> str:
    """What the user sees, as text."""
    return "\n".join("".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips())


def focused(app: DebuggerApp) -> str | None:
    return app.focused.id if app.focused is not None else None


def test_it_opens_on_the_first_bad_tensor(run: Path) -> None:
    async def play(app: DebuggerApp, pilot: Pilot[None]) -> None:
        seen, event = screen(app), app.debugger.focus
        assert event is not None and app.debugger.place() == app.debugger.alerts[0]
        assert "HEALTHY" in seen and event.name in seen and "NaN 2" in seen and "1 input above" in seen
        assert f"synthetic.py:{event.op.line}" in seen and f"▶{event.op.line:>3}" in seen and focused(app) == "list"

    played(run, play)


def test_alerts_lists_and_search(run: Path) -> None:
    async def play(app: DebuggerApp, pilot: Pilot[None]) -> None:
        await press(app, pilot, "home")
        assert app.debugger.place() == 0 and "tensors 1/3,000" in screen(app)
        for alert in app.debugger.alerts[:2]:
            await press(app, pilot, "n")
            assert app.debugger.place() == alert
        await press(app, pilot, "p", "a")
        assert "alerts 1/5" in screen(app) and app.debugger.place() == app.debugger.alerts[0]
        await press(app, pilot, "down")
        assert app.debugger.place() == app.debugger.alerts[1]
        await press(app, pilot, "t")
        assert f"tensors {app.debugger.alerts[1] + 1:,}/3,000" in screen(app)
        await press(app, pilot, "slash", "R", "E", "L", "U", "_", "4", "2", "enter")
        assert "RELU_42 " in screen(app) and "layer_4/Relu_42:0" in screen(app) and focused(app) == "list"
        await press(app, pilot, "escape")
        assert "/3,000" in screen(app)

    played(run, play)


def test_walking_the_graph(run: Path) -> None:
    async def play(app: DebuggerApp, pilot: Pilot[None]) -> None:
        await typed(app, pilot, "pt layer_2/Log_24 -n 0")
        await press(app, pilot, "escape", "enter")
        assert focused(app) == "walk"
        await press(app, pilot, "up", "enter")
        assert app.debugger.focus is not None and app.debugger.focus.op.name == "layer_2/Mul_23"
        await press(app, pilot, "down", "enter", "down", "enter")
        assert app.debugger.focus.op.name == "layer_2/Sum_25"
        await press(app, pilot, "backspace", "backspace")
        assert app.debugger.focus.op.name == "layer_2/Mul_23"
        assert "layer_2/Mul_23:0" in screen(app)

    played(run, play)


def test_commands_history_and_completion(run: Path) -> None:
    async def play(app: DebuggerApp, pilot: Pilot[None]) -> None:
        await typed(app, pilot, "ni layer_2/Log_24 -t")
        assert app.query_one(ContentSwitcher).current == "output" and "› ni layer_2/Log_24 -t" in screen(app)
        assert "1 input " in screen(app) and focused(app) == "command"
        await typed(app, pilot, "nonsense")
        assert "there is no command 'nonsense'" in screen(app)
        await press(app, pilot, "up")
        assert app.query_one(CommandLine).value == "nonsense"
        await press(app, pilot, "up")
        assert app.query_one(CommandLine).value == "ni layer_2/Log_24 -t"
        app.query_one(CommandLine).value = ""
        await press(app, pilot, *"pt", "space", *"layer_99/Su", "tab")
        assert app.query_one(CommandLine).value == "pt layer_99/Sum_995:0"
        await press(app, pilot, "enter")
        assert "FULL_TENSOR" in screen(app)
        await press(app, pilot, "escape")
        assert app.query_one(ContentSwitcher).current == "panes" and focused(app) == "list"

    played(run, play)


def test_lt_fills_the_list_and_quit_quits(run: Path) -> None:
    async def play(app: DebuggerApp, pilot: Pilot[None]) -> None:
        await typed(app, pilot, "lt -f nan > 0 -s name")
        assert "nan > 0 1/5" in screen(app) and app.query_one(ContentSwitcher).current == "panes"
        await typed(app, pilot, "lt -f nan > 1000")
        assert "nan > 1000 0" in screen(app)
        await press(app, pilot, "down", "enter", "escape", "n")  # on an empty list, nothing breaks
        await typed(app, pilot, "quit")
        assert not app.is_running

    played(run, play)


def test_verdict_values_and_help(run: Path) -> None:
    async def play(app: DebuggerApp, pilot: Pilot[None]) -> None:
        await press(app, pilot, "w")
        assert "› why" in screen(app) and "no problem found in" in screen(app) and focused(app) == "output"
        await press(app, pilot, "1", "v")
        assert "its value was not kept" in screen(app)
        await press(app, pilot, "i")
        assert "attributes" in "".join(line.text for line in app.query_one("#output", RichLog).lines)
        await press(app, pilot, "question_mark")
        assert len(app.screen_stack) == 2 and isinstance(app.screen_stack[1], HelpScreen) and "Backspace" in screen(app)
        await press(app, pilot, "escape")
        assert len(app.screen_stack) == 1
        await press(app, pilot, "3")
        assert focused(app) == "source"
        await press(app, pilot, "tab")
        assert focused(app) == "list"
        await press(app, pilot, "s")
        assert "step …" not in screen(app)

    played(run, play)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_every_pane_is_there(run: Path, size: tuple[int, int]) -> None:
    async def play(app: DebuggerApp, pilot: Pilot[None]) -> None:
        seen = screen(app)
        assert all(words in seen for words in ("HEALTHY", "tensors ", "float32 [", "above", "synthetic.py:", "? help"))
        assert max(map(len, seen.splitlines())) <= size[0] and len(seen.splitlines()) <= size[1]

    played(run, play, size)


def test_a_small_window_shows_one_pane_at_a_time(run: Path) -> None:
    async def play(app: DebuggerApp, pilot: Pilot[None]) -> None:
        assert "tensors " in screen(app) and "above" not in screen(app)
        await press(app, pilot, "enter")
        assert "above" in screen(app) and "float32" in screen(app) and "─tensors" not in screen(app)
        await press(app, pilot, "tab")
        assert "▶" in screen(app) and "above" not in screen(app)
        await press(app, pilot, "tab")
        assert "tensors " in screen(app)
        await pilot.resize_terminal(100, 30)
        await settled(app, pilot)
        assert "tensors " in screen(app) and "above" in screen(app)

    played(run, play, (60, 16))


def test_a_million_tensors_are_not_all_made(tmp_path_factory: pytest.TempPathFactory) -> None:
    run = synthetic.write(tmp_path_factory.mktemp("runs") / "million", MILLION, 100)

    async def play(app: DebuggerApp, pilot: Pilot[None]) -> None:
        made = 0
        line = TensorList.line

        def counted(self: TensorList, at: int, width: int) -> Any:
            nonlocal made
            made += 1
            return line(self, at, width)

        TensorList.line = counted  # type: ignore[method-assign]
        try:
            started = time.process_time()
            await pilot.press("end", "pageup", "home", "pagedown", *["down"] * 20)
            took = time.process_time() - started
            await settled(app, pilot)
        finally:
            TensorList.line = line  # type: ignore[method-assign]
        assert made < 5000 and took < 15.0
        await press(app, pilot, "end")
        assert "tensors 1,000,000/1,000,000" in screen(app)

    played(run, play)
    shutil.rmtree(run)


def test_a_trace_that_grows_is_followed(tmp_path: Path) -> None:
    short, grown = (synthetic.write(tmp_path / name, events, 3) for name, events in (("a", 1000), ("b", 2000)))
    meta = json.loads((short / "run.json").read_text())
    (short / "run.json").write_text(
        json.dumps({**meta, "pid": os.getpid(), "started": time.time(), "ended": None})
    )  # as if it still ran

    async def play(app: DebuggerApp, pilot: Pilot[None]) -> None:
        await press(app, pilot, "home")
        (folder,) = short.glob("p-*")
        for file in next(iter(grown.glob("p-*"))).iterdir():
            shutil.copy(file, folder / f"{file.name}.new")
            (folder / f"{file.name}.new").replace(folder / file.name)
        while "/2,000" not in screen(app):  # it looks once a second
            await pilot.pause(0.05)
        await settled(app, pilot)
        assert "tensors 1/2,000" in screen(app) and app.debugger.diagnosis.events == 2000

    played(short, play)


def test_an_empty_run(tmp_path: Path) -> None:
    run = synthetic.write(tmp_path / "empty", 0, 0)

    async def play(app: DebuggerApp, pilot: Pilot[None]) -> None:
        assert "Nothing was recorded" in screen(app)
        await press(app, pilot, "n", "down", "enter", "1", "v", "a", "s", "w", "i", "backspace")

    played(run, play)


@pytest.mark.parametrize(
    ("counts", "width", "cells"),
    [
        ((0, 0, 10, 0, 0, 0), 10, [0, 0, 10, 0, 0, 0]),
        ((1000, 0, 0, 0, 0, 1), 10, [9, 0, 0, 0, 0, 1]),  # one NaN is seen among a thousand
        ((1, 1, 1, 1, 1, 1), 6, [1] * 6),
        ((0, 0, 0, 0, 0, 0), 10, [0] * 6),
        ((5, 5, 0, 0, 0, 0), 1, [0] * 6),
    ],
)
def test_the_health_bar_is_in_proportion(counts: tuple[int, ...], width: int, cells: list[int]) -> None:
    assert len(counts) == len(VALUE_KINDS) and cells_per_count(counts, width) == cells
