"""The program of a run is paused: the page is told, and drives it. A small server speaks the program's protocol."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.paused_program import NAME, FakeProgram, pausing
from tests.unit.serving import Answer, Serving, serving

from tensorsleuth.trace.storage import synthetic
from tensorsleuth.ui.debugger.live_program import connect
from tensorsleuth.ui.web.server import access_control, debugger_console
from tensorsleuth.ui.web.server import pause_state as states
from tensorsleuth.ui.web.server.pause_state import PauseWatcher


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(synthetic, "NODES", 40)
    monkeypatch.setattr(debugger_console, "SECONDS_TO_PAUSE", 0.0)
    monkeypatch.setattr(states, "SECONDS_TO_ANSWER", 60.0)  # however busy this machine is
    return synthetic.write(tmp_path / "run", 80, bad=3)


@pytest.fixture
def folder(run: Path) -> Path:
    return next(run.glob("p-*"))


@pytest.fixture
def program(folder: Path) -> Iterator[FakeProgram]:
    with pausing(folder) as program:
        yield program


@pytest.fixture
def page(run: Path, program: FakeProgram) -> Iterator[Serving]:
    with serving(run.parent) as running:
        yield running


def told(answer: Answer) -> str:
    assert answer.status == 200, answer.body
    return answer.json["failed"] or "".join(part["text"] for part in answer.json["parts"])


# ---- how it stands


def test_where_it_is_paused_and_why(page: Serving) -> None:
    pause = page.get("/api/runs/run/pause").json
    assert (pause["state"], pause["why"], pause["name"], pause["op"]) == ("paused", "nan > 0", f"{NAME}:0", "Log")
    assert (pause["file"], pause["line"], pause["step"], pause["shape"]) == ("train.py", 18, 0, [2, 2])
    assert pause["seen"] == [{"name": "norm", "value": "nan"}], "JSON has no NaN: as text"
    assert pause["tensor"] == "0.4"
    row = page.get("/api/runs/run/tensors/0.4").json
    assert (row["name"], row["step"]) == (f"{NAME}:0", 0)


def test_a_program_that_runs_and_one_that_is_not_there(page: Serving, program: FakeProgram) -> None:
    program.state = "running"
    assert page.get("/api/runs/run/pause").json == {**states.NO_PROGRAM, "state": "running"}
    program.close()
    assert page.get("/api/runs/run/pause").json == states.NO_PROGRAM
    assert page.get("/api/runs/none/pause").status == 404


def test_a_tensor_that_was_not_read_yet_has_no_id(page: Serving, program: FakeProgram) -> None:
    program.at = 400  # a node that the run does not have
    assert page.get("/api/runs/run/pause").json["tensor"] is None


NONSENSE: list[dict[str, Any]] = [
    {"state": "paused"},
    {"state": "paused", "where": 3, "seen": [1], "shape": "x", "why": {}},
    {"state": "paused", "where": {"step": 1e400, "line": "9", "tensor": "a" * 9000}, "shape": [None, 1 << 80, "a"]},
    {"state": ["paused"]},
]


@pytest.mark.parametrize("status", NONSENSE)
def test_what_a_program_says_of_itself_is_not_trusted(
    page: Serving, program: FakeProgram, monkeypatch: pytest.MonkeyPatch, status: dict[str, Any]
) -> None:
    monkeypatch.setattr(program, "answer", lambda request: status)
    pause = page.get("/api/runs/run/pause")
    assert pause.status == 200 and set(pause.json) == set(states.NO_PROGRAM) and len(pause.body) < 2000


def test_the_stream_tells_of_pauses(page: Serving, program: FakeProgram) -> None:
    connection = page.connect()
    connection.request("GET", "/api/runs/run/live")
    answer = connection.getresponse()

    end = time.monotonic() + 120

    def next_pause() -> dict[str, Any]:
        while answer.readline() != b"event: pause\n":
            assert time.monotonic() < end, "nothing but comments"
        return dict(json.loads(answer.readline().removeprefix(b"data: ")))

    first = next_pause()
    assert (first["state"], first["name"], first["tensor"]) == ("paused", f"{NAME}:0", "0.4")
    page.command("run", "step")
    assert next_pause()["name"] == "layer_0/Sum_5:0"
    page.command("run", "continue")
    assert next_pause()["state"] == "running"
    connection.close()


# ---- somebody watches


@pytest.fixture
def watching(run: Path, program: FakeProgram) -> Iterator[PauseWatcher]:
    watching = PauseWatcher(run)
    yield watching
    watching.close()


def test_one_that_is_killed_while_paused_is_gone(watching: PauseWatcher, program: FakeProgram) -> None:
    assert watching.poll()["state"] == "paused"
    program.close()
    for _ in range(2):
        gone = watching.poll()
        assert (gone["state"], gone["why"], gone["name"]) == ("gone", "nan > 0", f"{NAME}:0")


def test_one_that_ends_takes_its_address_back(watching: PauseWatcher, program: FakeProgram, folder: Path) -> None:
    watching.poll()
    program.close()
    (folder / "debug.json").unlink()
    assert watching.poll() == states.NO_PROGRAM


def test_one_that_is_killed_while_it_runs_did_not_die_of_a_pause(watching: PauseWatcher, program: FakeProgram) -> None:
    program.state = "running"
    assert watching.poll()["state"] == "running"
    program.close()
    assert watching.poll() == states.NO_PROGRAM


def test_one_that_is_busy_is_where_it_was(
    watching: PauseWatcher, program: FakeProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching.poll()
    watching.close()
    with monkeypatch.context() as busy:
        busy.setattr(states, "SECONDS_TO_ANSWER", 0.05)
        busy.setattr(program, "reply", lambda request: b"")
        assert watching.poll()["state"] == "paused"
    assert watching.poll()["state"] == "paused" and program.heard[-1] == {"do": "status"}


def test_of_several_processes_the_one_that_is_paused_is_meant(run: Path, folder: Path, program: FakeProgram) -> None:
    program.state = "running"
    second = folder.parent / f"{folder.name}9"
    second.mkdir()
    with pausing(second) as other:
        watching = PauseWatcher(run)
        assert watching.poll()["state"] == "paused"
        other.state, program.state = "running", "paused"
        assert watching.poll()["state"] == "running"
        assert watching.poll()["state"] == "paused", "the line to one that runs is not kept"
        watching.close()
        line = connect(run)
        line.ask("step")
        line.close()
    assert {"do": "step"} in program.heard and {"do": "step"} not in other.heard


# ---- commands


def test_values_and_expressions(page: Serving, program: FakeProgram) -> None:
    answer = page.command("run", "pt [0, :]")
    assert "[[ 1., -2.]," in told(answer) and answer.headers["cache-control"] == "no-store"
    assert {"do": "value", "name": None, "slice": "[0, :]"} in program.heard
    assert answer.json["parts"][0]["style"] == "bold" and answer.json["pause"]["state"] == "paused"
    assert told(page.command("run", "eval np.abs(x).max()")) == "np.int64(3)\n"
    assert {"do": "eval", "expression": "np.abs(x).max()"} in program.heard


def test_the_tensor_at_hand_is_the_one_it_is_paused_at(page: Serving) -> None:
    assert NAME in told(page.command("run", "ni")) and "layer_0/Mul_3" in told(page.command("run", "li"))
    page.command("run", "step")
    assert "layer_0/Sum_5" in told(page.command("run", "ni")) and NAME in told(page.command("run", "li"))


@pytest.mark.parametrize(
    ("line", "sent"),
    [
        ("step", {"do": "step"}),
        ("continue", {"do": "continue"}),
        ("until max > 1e4", {"do": "until", "filter": "max > 1e4"}),
        ("stop", {"do": "stop"}),
    ],
)
def test_it_goes_on(page: Serving, program: FakeProgram, line: str, sent: dict[str, str]) -> None:
    assert page.command("run", line).json["failed"] is None
    assert sent in program.heard


def test_how_it_stands_afterwards_comes_along(page: Serving) -> None:
    assert page.command("run", "step").json["pause"]["name"] == "layer_0/Sum_5:0"
    assert page.command("run", "continue").json["pause"]["state"] == "running"
    assert page.command("run", "stop").json["pause"] is None


def test_what_cannot_be_done_is_said(page: Serving, program: FakeProgram) -> None:
    assert "there is no command 'dance'" in told(page.command("run", "dance"))
    assert "no command" in told(page.command("run", " "))
    assert "close the page" in told(page.command("run", "quit"))
    program.close()
    gone = page.command("run", "step")
    assert gone.status == 409 and "answers" in gone.json["error"]["what"]
    assert page.command("none", "step").status == 404


BODIES = [b"", b"{", b"[]", b'{"command": 3}', b"[" * 10_000, b'{"command": "' + b"a" * 30_000 + b'"}']


@pytest.mark.parametrize("body", BODIES)
def test_a_body_that_is_no_command(page: Serving, program: FakeProgram, body: bytes) -> None:
    headers = {"Origin": f"http://127.0.0.1:{page.port}", "Content_Type": "application/json"}
    answer = page.send("/api/runs/run/debug", "POST", body, headers)
    assert answer.status == 400 and "command" in answer.json["error"]["what"]
    assert program.heard == []


def test_an_answer_without_end_is_cut(page: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debugger_console, "MAX_OUTPUT_LETTERS", 50)
    assert "cut short" in told(page.command("run", "help")) and len(told(page.command("run", "help"))) < 150


# ---- who may


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "evil.example"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Content_Type": "text/plain"}, 415),
        ({"Content_Type": "application/x-www-form-urlencoded"}, 415),
    ],
)
def test_no_other_site_can_send_a_command(
    page: Serving, program: FakeProgram, headers: dict[str, str], status: int
) -> None:
    assert page.command("run", "stop", **headers).status == status
    assert program.heard == []


def test_a_command_says_where_it_comes_from(page: Serving, program: FakeProgram) -> None:
    answer = page.send("/api/runs/run/debug", "POST", b'{"command": "stop"}', {"Content_Type": "application/json"})
    assert answer.status == 403 and "Origin" in answer.json["error"]["what"] and program.heard == []


def test_another_user_of_this_machine_cannot(
    page: Serving, program: FakeProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 4_000_000)
    answer = page.command("run", "stop")
    assert answer.status == 403 and "Only the user" in answer.json["error"]["what"] and program.heard == []


def test_nobody_can_say_that_he_is_another(page: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []

    def is_own(client: tuple[str, int], server: tuple[str, int]) -> bool:
        asked.append(client)
        return False

    monkeypatch.setattr(access_control, "is_own", is_own)
    page.command("run", "stop", X_Forwarded_For="10.0.0.9:99", Forwarded="for=10.0.0.9:99")
    ((host, port),) = asked
    assert host == "127.0.0.1" and port != 99


def test_the_token_is_for_reading(run: Path, program: FakeProgram, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(run.parent, host="0.0.0.0") as page:
        cookie = f"{page.guarding.cookie}={page.guarding.token}"
        assert page.command("run", "where").status == 403, "without the token nothing is told"
        assert page.command("run", "where", Cookie=cookie).status == 200, "its own user, from this machine"
        monkeypatch.setattr(access_control, "is_own", lambda client, server: False)
        assert page.get("/api/runs/run/pause", Cookie=cookie).status == 200
        assert page.command("run", "where", Cookie=cookie).status == 403


@pytest.mark.parametrize("path", ["/", "/api/runs", "/api/runs/run", "/api/runs/run/pause", "/api/runs/a/b/debug"])
def test_nothing_else_takes_a_post(page: Serving, path: str) -> None:
    assert page.get(path, "POST").status == 405


def test_a_command_is_no_link(page: Serving) -> None:
    assert page.get("/api/runs/run/debug").status == 404
