"""Server-sent events: what is new in a run, not too often; an end when the listener goes, and when the server stops."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.serving import Serving, serving

from tensorsleuth.trace.storage import synthetic
from tensorsleuth.ui.web.server import live_events
from tensorsleuth.ui.web.server.live_events import RunFollower
from tensorsleuth.ui.web.server.pause_state import PauseWatcher


class Program:
    """A run as the follower sees it, changed by the test."""

    def __init__(self) -> None:
        self.run: dict[str, Any] = dict.fromkeys(live_events.CHANGE_KEYS, 0) | {"status": "running", "live": True}
        self.verdict: dict[str, Any] = {"verdict": "healthy", "findings": []}
        self.judged = 0
        self.now = 0.0
        self.cost = 0.1

    def judge(self) -> dict[str, Any]:
        self.judged += 1
        self.now += self.cost
        return self.verdict

    def follower(self) -> RunFollower:
        return RunFollower(lambda: {**self.run, "layers": ["not sent"]}, self.judge)

    def news(self, follower: RunFollower) -> list[tuple[str, Any]]:
        return [(kind, json.loads(data)) for kind, data in follower.news(lambda: self.now)]


def test_the_first_look_tells_everything() -> None:
    program = Program()
    assert program.news(program.follower()) == [("change", program.run), ("verdict", program.verdict)]


def test_a_program_that_is_gone_has_a_moment_to_say_how_it_ended() -> None:
    """The page listens no longer once it is told that a run has ended."""
    program = Program()
    follower = program.follower()
    program.news(follower)
    program.run |= {"status": "unknown", "live": False}
    assert program.news(follower) == []
    program.run |= {"status": "ended"}
    assert program.news(follower)[0] == ("change", program.run)


def test_an_end_that_nobody_wrote_down_is_told_in_the_end() -> None:
    program = Program()
    follower = program.follower()
    program.news(follower)
    program.run |= {"status": "unknown", "live": False}
    program.news(follower)
    program.now += live_events.SECONDS_TO_WRITE_END + 1
    assert program.news(follower)[0] == ("change", program.run)


def test_nothing_new_is_nothing_said() -> None:
    program = Program()
    follower = program.follower()
    program.news(follower)
    assert program.news(follower) == []
    program.run["tensors"] = 20
    assert [kind for kind, _ in program.news(follower)] == ["change"]
    assert program.judged == 1, "a verdict rests on what is bad: that did not change"


def test_a_verdict_is_found_again_where_more_is_bad_but_not_all_the_time() -> None:
    program = Program()
    follower = program.follower()
    program.news(follower)
    program.run["bad"], program.verdict = 1, {"verdict": "problem", "findings": [1]}
    assert [kind for kind, _ in program.news(follower)] == ["change"], "a tenth of the time, no more"
    program.now += 2 * live_events.VERDICT_SHARE * program.cost
    assert program.news(follower) == [("verdict", program.verdict)]
    program.now += 2 * live_events.VERDICT_SHARE * program.cost
    program.run["bad"] = 2
    assert [kind for kind, _ in program.news(follower)] == ["change"], "the same verdict is not sent again"
    assert program.judged == 3


def test_the_end_is_judged_at_once() -> None:
    program = Program()
    follower = program.follower()
    program.news(follower)
    program.run.update(live=False, status="failed")
    program.verdict = {"verdict": "problem", "findings": [1]}
    assert [kind for kind, _ in program.news(follower)] == ["change", "verdict"]
    assert follower.pause == live_events.SECONDS_BETWEEN_LOOKS_ENDED


def collect(follower: RunFollower, events: int, stopping: asyncio.Event) -> list[bytes]:
    standing = live_events.PauseFollower(PauseWatcher(Path("no such run")), lambda state: None)

    async def read() -> list[bytes]:
        found = []
        async for part in live_events.event_stream(follower, standing, asyncio.Lock(), stopping):
            found.append(part)
            if len(found) == events:
                stopping.set()
        return found

    return asyncio.run(asyncio.wait_for(read(), 60))


def test_silence_is_broken_by_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_events, "SECONDS_BETWEEN_LOOKS", 0.01)
    monkeypatch.setattr(live_events, "SECONDS_TO_HEARTBEAT", 0.02)
    parts = collect(Program().follower(), 6, asyncio.Event())
    assert parts[4:] == [b": still here\n\n"] * 2


def test_at_most_two_events_a_second() -> None:
    program = Program()
    follower = program.follower()

    def growing() -> dict[str, Any]:
        program.run["tensors"] += 1
        return program.run

    follower.run = growing
    began = time.monotonic()
    collect(follower, 6, asyncio.Event())  # retry, pause, change, verdict, change, change
    assert time.monotonic() - began >= 2 * live_events.SECONDS_BETWEEN_LOOKS - 0.05


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Serving]:
    synthetic.write(tmp_path / "first", events=2000)
    with serving(tmp_path) as server:
        yield server


def listen(running: Serving) -> Any:
    connection = running.connect()
    connection.request("GET", "/api/runs/first/live")
    answer = connection.getresponse()
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-store" and "content-encoding" not in answer.headers
    return connection, answer


def test_a_stream_begins_with_what_there_is(running: Serving) -> None:
    connection, answer = listen(running)
    lines = [answer.readline().decode() for _ in range(9)]
    connection.close()
    assert lines[:2] == ["retry: 1000\n", "\n"] and lines[2::3] == [
        "event: pause\n",
        "event: change\n",
        "event: verdict\n",
    ]
    assert json.loads(lines[3].removeprefix("data: "))["state"] == "none"
    change = json.loads(lines[6].removeprefix("data: "))
    assert set(change) == set(live_events.CHANGE_KEYS) and change["tensors"] == 2000 and change["live"] is False


def test_the_server_stops_at_once_with_open_streams(running: Serving) -> None:
    streams = [listen(running) for _ in range(3)]
    running.stop()
    assert not running.thread.is_alive()
    for connection, answer in streams:
        assert answer.read().endswith(b"\n\n"), "a clean end, not half an event"
        connection.close()


def test_a_listener_that_left_is_forgotten(running: Serving) -> None:
    connection, answer = listen(running)
    answer.readline()
    assert running.server.server_state.tasks
    answer.close()
    connection.close()
    until = time.monotonic() + 60
    while running.server.server_state.tasks and time.monotonic() < until:
        time.sleep(0.01)
    assert not running.server.server_state.tasks


def test_no_stream_of_a_run_that_there_is_not(running: Serving) -> None:
    assert running.get("/api/runs/none/live").status == 404
    assert running.get("/api/runs/first/live", "HEAD").status == 200
