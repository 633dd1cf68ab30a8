"""The real server over a log directory, and requests as any program can send them."""

from __future__ import annotations

import gzip
import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensorsleuth.ui.web.page_files import PageFile
from tensorsleuth.ui.web.server.access_control import AccessPolicy, make_access_policy
from tensorsleuth.ui.web.server.run_cache import RunCache
from tensorsleuth.ui.web.server.server import PageServer, listen

LONG = 60  # seconds: nothing here takes so long
FILES = {
    "index.html": PageFile(b"<!doctype html><title>page</title>", "text/html"),
    "assets/index-abc.js": PageFile(b"let answer = 42;" * 1000, "text/javascript"),
}


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        packed = self.headers.get("content-encoding") == "gzip"
        return json.loads(gzip.decompress(self.body) if packed else self.body, parse_constant=_no_constant)


@dataclass
class Serving:
    server: PageServer
    shelf: RunCache
    guarding: AccessPolicy
    port: int
    thread: threading.Thread

    def connect(self, timeout: float = LONG) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def get(self, path: str, method: str = "GET", **headers: str) -> Answer:
        return self.send(path, method, None, headers)

    def send(self, path: str, method: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        connection = self.connect()
        try:
            named = {name.replace("_", "-"): text for name, text in headers.items()}
            connection.request(method, path, body, named)
            answer = connection.getresponse()
            named = {name.lower(): text for name, text in answer.getheaders()}
            return Answer(answer.status, named, answer.read())
        finally:
            connection.close()

    def command(self, run: str, line: str, **headers: str) -> Answer:
        """A command for the paused program of a run, as the page sends it."""
        ours = {"Origin": f"http://127.0.0.1:{self.port}", "Content_Type": "application/json"}
        body = json.dumps({"command": line, "columns": 80}).encode()
        return self.send(f"/api/runs/{run}/debug", "POST", body, {**ours, **headers})

    def stop(self, patience: float = LONG) -> None:
        self.server.should_exit = True
        self.thread.join(patience)


@contextmanager
def serving(
    logdir: Path, host: str = "127.0.0.1", room: int = 3, files: dict[str, PageFile] = FILES
) -> Iterator[Serving]:
    bound = listen(host, 0)
    port = bound.getsockname()[1]
    guard, shelf = make_access_policy(host, port), RunCache(logdir, room)
    server = PageServer(shelf, files, guard)
    server.config.timeout_graceful_shutdown = 2 * LONG  # a busy machine may take longer than a user would wait
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    running = Serving(server, shelf, guard, port, thread)
    try:
        yield running
    finally:
        running.stop()


def _no_constant(name: str) -> object:
    raise AssertionError(f"{name} is not JSON")
