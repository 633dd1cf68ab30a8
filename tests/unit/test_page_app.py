"""How `sleuth view` answers: one shape of error, JSON that every browser reads, nothing sent twice, a few runs open."""

from __future__ import annotations

import gzip
import json
import shutil
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.unit.serving import Serving, serving

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.trace.storage import synthetic
from tensorsleuth.ui.web.run.errors import BadRequest, NotFound
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Question
from tensorsleuth.ui.web.server import app
from tensorsleuth.ui.web.server.replies import encode_json
from tensorsleuth.ui.web.server.run_cache import RunCache

gate = threading.Event()
asked_of_the_slow_one: list[str] = []


def slow(opened: OpenRun, asked: Mapping[str, str]) -> dict[str, Any]:
    asked_of_the_slow_one.append(asked.get("who", ""))
    assert gate.wait(60)
    return {"who": asked.get("who")}


def failing(error: Exception) -> Any:
    def answer(opened: OpenRun, asked: Mapping[str, str]) -> dict[str, Any]:
        raise error

    return answer


QUESTIONS = (
    Question("things/{id}", lambda opened, asked: {"id": asked["id"], "asked": dict(asked)}, ""),
    Question("things/at", lambda opened, asked: {"at": opened.name}, ""),
    Question("nan", lambda opened, asked: {"value": float("nan")}, ""),
    Question("half", lambda opened, asked: {"value": "\udc80 </script>"}, ""),
    Question("long", lambda opened, asked: {"value": "x" * 100_000}, ""),
    Question("bad", failing(BadRequest("No such sort.", "Sort by step.")), ""),
    Question("missing", failing(NotFound("No tensor 0.9.", None)), ""),
    Question("told", failing(SleuthError("cannot read it. Record it again.")), ""),
    Question("broken", failing(ZeroDivisionError("division by zero")), ""),
    Question("slow", slow, ""),
)


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serving]:
    monkeypatch.setattr(app, "QUESTIONS", QUESTIONS)
    synthetic.write(tmp_path / "first", events=2000)
    with serving(tmp_path) as server:
        yield server


def error(running: Serving, path: str) -> tuple[int, Any]:
    answer = running.get(path)
    assert answer.headers["cache-control"] == "no-store" and answer.headers["content-type"] == "application/json"
    return answer.status, answer.json["error"]


def test_parameters_of_path_and_query_come_together(running: Serving) -> None:
    assert running.get("/api/runs/first/things/0.7?run=other&sort=a%20b").json == {
        "id": "0.7",
        "asked": {"id": "0.7", "sort": "a b"},
    }
    assert running.get("/api/runs/first/things/at").json == {"at": "first"}


def test_every_error_has_one_shape(running: Serving) -> None:
    assert error(running, "/api/runs/first/bad") == (400, {"what": "No such sort.", "next": "Sort by step."})
    assert error(running, "/api/runs/first/missing") == (404, {"what": "No tensor 0.9.", "next": None})
    assert error(running, "/api/runs/first/told") == (400, {"what": "cannot read it. Record it again.", "next": None})
    assert error(running, "/api/runs/none")[0] == 404
    assert error(running, "/api/nothing")[0] == 404
    assert error(running, "/nothing.js")[1]["next"]


def test_a_mistake_of_ours_is_told_too(running: Serving, capfd: pytest.CaptureFixture[str]) -> None:
    status, told = error(running, "/api/runs/first/broken")
    assert status == 500 and "ZeroDivisionError: division by zero" in told["what"]


def test_nan_is_never_sent(running: Serving) -> None:
    status, told = error(running, "/api/runs/first/nan")
    assert status == 500 and "JSON compliant" in told["what"]


def test_half_a_character_arrives(running: Serving) -> None:
    assert running.get("/api/runs/first/half").json == {"value": "\udc80 </script>"}


def test_nothing_turns_the_direction_of_writing() -> None:
    sent = json.loads(encode_json({"a": "\u202egnp.\u202c", "b": "\x1b[0m\x7f\n\t", "c": "\\u202e é \U0001f600"}))
    assert sent == {"a": "\ufffdgnp.\ufffd", "b": "\ufffd[0m\ufffd\n\t", "c": "\\u202e é \U0001f600"}


def test_long_answers_are_packed(running: Serving) -> None:
    packed = running.get("/api/runs/first/long", Accept_Encoding="gzip")
    assert packed.headers["content-encoding"] == "gzip" and len(packed.body) < 1000
    assert "content-encoding" not in running.get("/api/runs/first/long").headers
    script = running.get("/assets/index-abc.js", Accept_Encoding="gzip")
    assert gzip.decompress(script.body).startswith(b"let answer")


@pytest.mark.parametrize("path", ["/", "/assets/index-abc.js", "/api/runs", "/api/runs/first/things/at"])
def test_what_the_browser_has_is_not_sent_again(running: Serving, path: str) -> None:
    first = running.get(path)
    again = running.get(path, If_None_Match=first.headers["etag"])
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", first.headers["etag"])
    assert running.get(path, If_None_Match='W/"other"').status == 200


def test_only_what_cannot_change_is_kept_unasked(running: Serving) -> None:
    assert "immutable" in running.get("/assets/index-abc.js").headers["cache-control"]
    assert running.get("/").headers["cache-control"] == "private, no-cache"
    assert running.get("/api/runs").headers["cache-control"] == "private, no-cache"


def test_a_run_is_asked_one_thing_at_a_time_and_not_for_those_who_left(running: Serving) -> None:
    gate.clear()
    asked_of_the_slow_one.clear()
    left = running.connect()
    first = threading.Thread(target=running.get, args=("/api/runs/first/slow?who=first",))
    first.start()
    while not asked_of_the_slow_one:
        pass
    left.request("GET", "/api/runs/first/slow?who=left")
    left.close()
    last = threading.Thread(target=running.get, args=("/api/runs/first/slow?who=last",))
    last.start()
    assert running.get("/api/runs").status == 200, "others are answered meanwhile"
    assert asked_of_the_slow_one == ["first"]
    gate.set()
    first.join()
    last.join()
    assert asked_of_the_slow_one == ["first", "last"]


def test_few_runs_stay_open(tmp_path: Path) -> None:
    for name in "abc":
        synthetic.write(tmp_path / name, events=1000)
    shelf = RunCache(tmp_path, max_runs=2)
    first = shelf.get("a")
    shelf.get("b")
    assert shelf.get("a") is first
    shelf.get("c")
    assert shelf.names == ["a", "c"], "the one asked longest ago went"


def test_a_run_that_was_deleted_is_gone(running: Serving) -> None:
    assert running.get("/api/runs/first/things/at").status == 200
    shutil.rmtree(running.shelf.logdir / "first")
    assert running.get("/api/runs/first/things/at").status == 404
    assert running.shelf.names == []
