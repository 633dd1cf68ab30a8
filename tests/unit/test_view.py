"""`sleuth view`: the address it prints, its errors, and its end."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner, Result
from tests.unit.serving import FILES

from tensorsleuth.cli.main import cli
from tensorsleuth.trace.storage import synthetic
from tensorsleuth.ui.web import page_files
from tensorsleuth.ui.web.run.question import Question
from tensorsleuth.ui.web.server import address, server
from tensorsleuth.ui.web.server.access_control import make_access_policy
from tensorsleuth.ui.web.server.run_cache import CachedRun

NO_SCREEN = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": "", "SSH_CONNECTION": ""}


@pytest.fixture
def logdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(page_files, "STATIC", _page(tmp_path / "static"))
    monkeypatch.setattr(page_files.load, "__defaults__", (tmp_path / "static",))
    synthetic.write(tmp_path / "runs" / "first", events=3000)
    return tmp_path / "runs"


def _page(folder: Path) -> Path:
    for name, file in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(file.body)
    return folder


def view(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["view", *map(str, arguments)])


def test_no_run_is_an_error_that_says_how_to_make_one(logdir: Path) -> None:
    done = view("--logdir", logdir / "empty", "--export", logdir / "page.html")
    assert done.exit_code == 2 and "Make one: sleuth run program.py" in done.output
    done = view("--logdir", logdir, "second")
    assert done.exit_code == 2 and "no run 'second'" in done.output


def test_a_page_that_is_not_built_says_how(logdir: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(page_files.load, "__defaults__", (tmp_path / "nothing",))
    done = view("--logdir", logdir)
    assert done.exit_code == 2 and "make page" in done.output and "Node.js 20" in done.output


def test_a_port_that_is_taken_is_told(logdir: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = view("--logdir", logdir, "--port", taken.getsockname()[1])
    assert done.exit_code == 2
    assert f"port {taken_port(done)} of 127.0.0.1 is taken. Leave out --port" in done.output


def taken_port(done: Result) -> str:
    return str(re.findall(r"port (\d+)", done.output)[0])


def test_an_address_that_is_not_of_this_machine_is_told(logdir: Path) -> None:
    done = view("--logdir", logdir, "--host", "no-such-host.invalid")
    assert done.exit_code == 2 and "'no-such-host.invalid' is not an address of this machine" in done.output
    done = view("--logdir", logdir, "--host", "203.0.113.7")
    assert done.exit_code == 2 and "cannot listen at '203.0.113.7'" in done.output


def test_the_usual_port_or_one_near_it() -> None:
    first, second = server.listen("127.0.0.1", None), server.listen("127.0.0.1", None)
    with first, second:
        ports = [bound.getsockname()[1] for bound in (first, second)]
        assert ports[0] != ports[1] and all(port >= server.DEFAULT_PORT for port in ports)


@pytest.mark.parametrize(("host", "shown"), [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]"), ("localhost", "localhost")])
def test_the_address_names_run_and_tensor(host: str, shown: str) -> None:
    made = address.page_address(host, 6070, make_access_policy(host, 6070), {"run": "a b", "tensor": "0.7"})
    assert made == f"http://{shown}:6070/#run=a+b&tensor=0.7"


def test_the_address_of_a_server_for_others_has_the_token() -> None:
    guard = make_access_policy("0.0.0.0", 6070)
    made = address.page_address("0.0.0.0", 6070, guard, {"run": "a"})
    assert made == f"http://{socket.gethostname()}:6070/?token={guard.token}#run=a"


def test_over_ssh_it_says_how_to_forward_the_port() -> None:
    environment = {"SSH_CONNECTION": "10.0.0.1 50000 10.0.0.2 22", "USER": "ann"}
    assert address.forwarding_command("127.0.0.1", 6071, environment) == "ssh -N -L 6071:127.0.0.1:6071 ann@10.0.0.2"
    assert address.forwarding_command("127.0.0.1", 6071, {}) is None
    assert not address.can_open_browser({}) and address.can_open_browser({"DISPLAY": ":0"})


class Judged:
    """A run whose verdict is known, or is long in coming."""

    def __init__(self, verdict: dict[str, Any]) -> None:
        self.verdict = verdict
        self.known = threading.Event()
        self.known.set()

    def ask(self, question: Question, asked: object) -> dict[str, Any]:
        self.known.wait()
        return self.verdict if question.path == "verdict" else {}


def test_the_cause_is_in_focus(monkeypatch: pytest.MonkeyPatch) -> None:
    found: Any = {"findings": [{"tensor": "0.7"}, {"tensor": "0.9"}]}
    monkeypatch.setattr(address, "SECONDS_TO_VERDICT", 60)
    assert address.first_cause(cast(CachedRun, Judged(found))) == {"tensor": "0.7"}
    assert address.first_cause(cast(CachedRun, Judged({"findings": []}))) == {}
    assert address.first_cause(cast(CachedRun, Judged({"findings": [{"tensor": None}]}))) == {}
    monkeypatch.setattr(address, "SECONDS_TO_VERDICT", 0.01)
    late = Judged(found)
    late.known.clear()
    assert address.first_cause(cast(CachedRun, late)) == {}, "the address is not kept back for it"
    late.known.set()


@contextmanager
def viewing(*arguments: object, **environment: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """The command in a process of its own, and what it printed up to its address."""
    command = [sys.executable, "-m", "tensorsleuth.cli.main", "view", *map(str, arguments)]
    env = {**os.environ, **NO_SCREEN, **environment}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env)
    assert process.stderr is not None
    lines = [process.stderr.readline()]
    try:
        yield process, lines
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


built = (page_files.STATIC / "index.html").exists()
needs_page = pytest.mark.skipif(not built, reason="the page is not built: make page")


@needs_page
def test_it_serves_until_ctrl_c_which_is_no_error(logdir: Path) -> None:
    with viewing("--logdir", logdir, "--port", 0) as (process, lines):
        found = re.search(r"http://127\.0\.0\.1:(\d+)/#run=first   \(Ctrl-C stops\)", lines[0])
        assert found, lines
        connection = http.client.HTTPConnection("127.0.0.1", int(found.group(1)))
        connection.request("GET", "/api/runs/first/verdict")
        assert b'"verdict":"healthy"' in connection.getresponse().read()
        connection.request("GET", "/api/runs/first/live")
        assert connection.getresponse().status == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        connection.close()


@needs_page
def test_it_waits_for_the_first_run(tmp_path: Path) -> None:
    with viewing("--logdir", tmp_path / "empty", "--port", 0) as (process, lines):
        assert "The page waits for the first. Record one: sleuth run program.py" in lines[0]
        assert process.stderr is not None
        found = re.search(r"http://127\.0\.0\.1:(\d+)/   \(Ctrl-C", process.stderr.readline())
        assert found
        synthetic.write(tmp_path / "empty" / "first", events=1000)
        connection = http.client.HTTPConnection("127.0.0.1", int(found.group(1)))
        connection.request("GET", "/api/runs/first")
        assert connection.getresponse().status == 200
        connection.close()


@needs_page
def test_it_opens_a_browser_where_there_is_one(logdir: Path, tmp_path: Path) -> None:
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}.part && mv {opened}.part {opened}\n')
    browser.chmod(0o755)
    with viewing("--logdir", logdir, "--port", 0, BROWSER=f"{browser} %s") as (_, lines):
        until = time.monotonic() + 60
        while not opened.exists() and time.monotonic() < until:
            time.sleep(0.02)
        assert opened.read_text().strip() in lines[0]
    opened.unlink()
    with viewing("--logdir", logdir, "--port", 0, "--no-browser", BROWSER=f"{browser} %s"):
        time.sleep(0.3)
        assert not opened.exists()
