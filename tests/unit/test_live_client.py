"""A live program over its socket: a small server that speaks the protocol stands for it."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.unit.paused_program import NAME, FakeProgram, pausing

from tensorsleuth.cli.main import cli
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.trace.reader import open_trace
from tensorsleuth.trace.storage import synthetic
from tensorsleuth.ui.debugger.commands.printing import as_array
from tensorsleuth.ui.debugger.debugger import Debugger
from tensorsleuth.ui.debugger.live_program import LiveProgram, connect


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(synthetic, "NODES", 40)
    return synthetic.write(tmp_path / "run", 80, bad=3)


@pytest.fixture
def folder(run: Path) -> Path:
    return next(run.glob("p-*"))


@pytest.fixture
def program(run: Path, folder: Path) -> Iterator[FakeProgram]:
    with pausing(folder) as program:
        yield program


@pytest.fixture
def debugger(run: Path, program: FakeProgram) -> Iterator[Debugger]:
    live = LiveProgram(program.path, os.getpid(), timeout=60)
    yield Debugger(open_trace(run), live)
    live.close()


def said(debugger: Debugger, line: str) -> str:
    return "\n".join(getattr(block, "text", str(block)) for block in debugger.run_line(line).blocks)


def test_where_goes_to_the_paused_tensor(debugger: Debugger) -> None:
    text = said(debugger, "where")
    assert "paused at layer_0/Log_4" in text and "train.py:18" in text and "nan > 0" in text
    assert debugger.focus is not None and debugger.focus.op.name == NAME


@pytest.mark.parametrize(
    ("line", "sent"),
    [
        ("step", {"do": "step"}),
        ("s", {"do": "step"}),
        ("until max > 1e4", {"do": "until", "filter": "max > 1e4"}),
        ("run -f nan > 0", {"do": "until", "filter": "nan > 0"}),
        ("run -t 3", {"do": "until", "filter": "step >= 3"}),
    ],
)
def test_the_program_goes_on_until_it_pauses(
    debugger: Debugger, program: FakeProgram, line: str, sent: dict[str, str]
) -> None:
    assert "paused at layer_0/Sum_5" in said(debugger, line)
    assert sent in program.heard
    assert debugger.focus is not None and debugger.focus.op.type == "Sum"


def test_continue_runs(debugger: Debugger, program: FakeProgram) -> None:
    debugger.seconds_to_pause = 0.1
    assert "the program is running" in said(debugger, "cont")
    assert {"do": "continue"} in program.heard


def test_a_program_that_ends_when_let_go(
    debugger: Debugger, program: FakeProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = program.answer

    def end(request: dict[str, Any]) -> dict[str, Any]:
        if request["do"] == "status":
            program.close()
        return answer(request)

    monkeypatch.setattr(program, "answer", end)
    assert "the program has ended" in said(debugger, "cont")
    assert debugger.live is None and "#0 " in said(debugger, "step")  # now of what was recorded


def test_values_are_the_programs_own(debugger: Debugger, program: FakeProgram) -> None:
    text = said(debugger, f"pt {NAME}:0[0:2, :] -r [-3, 0]")
    assert {"do": "value", "name": f"{NAME}:0", "slice": "[0:2, :]"} in program.heard
    assert "-2*" in text and "0*" in text and "4*" not in text and "2 of 4" in text and "cut short" in text
    assert said(debugger, "eval np.argmax(`a:0`) + x[0]") == "np.int64(3)"
    assert {"do": "eval", "expression": "np.argmax(value('a:0')) + x[0]"} in program.heard
    assert "layer_0/Log_4" in said(debugger, "pt") and program.heard[-2] == {"do": "value", "name": None, "slice": ""}


def test_values_have_the_digits_of_their_type() -> None:
    sent = {"values": [0.8989999890327454, 1.0], "dtype": "float32"}  # as JSON writes it
    assert (
        str(as_array(sent)) == "[0.899 1.   ]"
        and str(as_array({**sent, "dtype": "float64"})) == "[0.89899999 1.        ]"
    )
    assert as_array({**sent, "dtype": "no such dtype"}).tolist() == sent["values"]


def test_what_the_program_no_longer_has_is_shown_as_recorded(debugger: Debugger) -> None:
    assert "as recorded: the program" in said(debugger, "pt Log_4")
    with pytest.raises(SleuthError, match=r"the program \(pid \d+\) says: there is no tensor 'nonsense' here"):
        debugger.run_line("pt nonsense")


def test_a_program_that_has_gone(debugger: Debugger, program: FakeProgram) -> None:
    debugger.run_line("where")
    program.close()
    with pytest.raises(SleuthError, match=r"has gone: .* sleuth debug"):
        debugger.run_line("step")


def test_a_program_that_does_not_answer(run: Path, program: FakeProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "reply", lambda request: b"")
    live = connect(run, timeout=0.1)
    with pytest.raises(SleuthError, match=r"has not answered 'status' for 0.1 s"):
        live.ask("status")
    live.close()


@pytest.mark.parametrize("reply", [b"nonsense\n", b"[1]\n", b"[" * 10_000 + b"\n"])
def test_a_program_that_answers_nonsense(
    run: Path, program: FakeProgram, monkeypatch: pytest.MonkeyPatch, reply: bytes
) -> None:
    monkeypatch.setattr(program, "reply", lambda request: reply)
    live = connect(run)
    with pytest.raises(SleuthError, match="with a JSON object"):
        live.ask("status")
    live.close()


@pytest.mark.parametrize(
    ("written", "refusal"),
    [
        (None, "no process of run waits for a debugger"),
        ("{", "no process of run waits for a debugger"),
        ('{"socket": 3}', "no process of run waits for a debugger"),
        ('{"socket": "gone.sock"}', "does not answer at .*gone.sock: No such file"),
        ('{"socket": "debug.json"}', "it is not a socket"),
    ],
)
def test_no_program_to_attach_to(run: Path, folder: Path, written: str | None, refusal: str) -> None:
    if written is not None:
        (folder / "debug.json").write_text(written)
    with pytest.raises(SleuthError, match=refusal):
        connect(run)


def test_a_socket_of_another_user_is_left_alone(
    run: Path, program: FakeProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)
    with pytest.raises(SleuthError, match="belongs to another user"):
        connect(run)


@pytest.mark.parametrize("link", [False, True])
def test_a_run_cannot_make_us_talk_to_another_programs_socket(run: Path, folder: Path, link: bool) -> None:
    with tempfile.TemporaryDirectory() as short, closing(socket.socket(socket.AF_UNIX)) as other:
        agent = Path(short) / "agent"
        other.bind(str(agent))
        other.listen()
        if link:
            (Path(short) / "sleuth-debug-x").mkdir()
            (Path(short) / "sleuth-debug-x" / "socket").symlink_to(agent)
        named = Path(short) / "sleuth-debug-x" / "socket" if link else agent
        (folder / "debug.json").write_text(json.dumps({"socket": str(named), "pid": 1}))
        with pytest.raises(SleuthError, match="not a socket of tensorsleuth"):
            connect(run)


def sleuth(*arguments: str) -> Result:
    return CliRunner().invoke(cli, arguments)


def test_attach_from_the_command_line(run: Path, program: FakeProgram) -> None:
    done = sleuth("debug", "--attach", str(run), "-c", "where", "-c", "step", "-c", "stop", "-c", "step")
    assert "paused at layer_0/Log_4" in done.output and "paused at layer_0/Sum_5" in done.output
    assert done.exit_code == 2 and "has gone" in done.stderr


def test_a_program_that_records_no_run(program: FakeProgram) -> None:
    folder = program.path.parent
    (folder / "debug.json").write_text(json.dumps({"socket": str(program.path), "pid": 1}))
    done = sleuth("debug", "--attach", str(folder), "-c", "where", "-c", f"pt {NAME}", "-c", "alerts", "-c", "why")
    assert done.exit_code == 0 and "paused at layer_0/Log_4" in done.output and "[ 0.,  4.]" in done.output


def test_without_a_program_the_recorded_run_is_walked(run: Path) -> None:
    done = sleuth("debug", str(run), "-c", "step", "-c", "stop")
    assert "#0 " in done.output and "no program is attached" in done.stderr
    assert sleuth("debug", "--attach", str(run), "-c", "where").exit_code == 2


def test_the_screen_of_a_live_program(debugger: Debugger, program: FakeProgram) -> None:
    from tensorsleuth.ui.tui.app import DebuggerApp

    def screen(app: DebuggerApp) -> str:
        strips = app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip) for strip in strips)

    async def main() -> None:
        app = DebuggerApp(debugger)
        async with app.run_test(size=(100, 30)) as pilot:

            async def until(words: str) -> None:
                for _ in range(200):
                    await pilot.pause(0.05)
                    if words in screen(app):
                        return
                raise AssertionError(f"{words!r} is not in {screen(app)}")

            await until("PAUSED  layer_0/Log_4  Log  step 0  nan > 0")
            await until("─layer_0/Log_4:0─")
            await pilot.press("s")
            await until("PAUSED  layer_0/Sum_5")
            await until("─layer_0/Sum_5:0─")
            await pilot.press("c")
            await until("RUNS")
            program.close()
            await until("has gone")
            for _ in range(200):  # until that is known at the top as well
                await pilot.pause(0.05 if debugger.live is not None else 0.2)
                if debugger.live is None:
                    break
            await pilot.press("s")  # now of what was recorded
            await until("─layer_0/Sub_6:0─")

    asyncio.run(main())


def same(action: Callable[[], object]) -> str:
    with pytest.raises(SleuthError) as caught:
        action()
    return str(caught.value)


def test_live_commands_say_how_to_attach(run: Path) -> None:
    assert "sleuth debug --attach" in same(lambda: Debugger(open_trace(run)).run_line("stop"))
