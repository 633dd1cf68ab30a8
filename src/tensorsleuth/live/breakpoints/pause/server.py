"""Answers debuggers on a socket that only this user can open: one line of JSON for each line of JSON."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.trace.storage.files import write_atomically

DEBUG_FILE = "debug.json"
MAX_REQUEST_BYTES = 1 << 20
Answer = Callable[[dict[str, Any]], dict[str, Any]]


class PauseServer:
    """Listens until the process ends. Debuggers may connect and disconnect at any time."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._folder = Path(tempfile.mkdtemp(prefix="sleuth-debug-"))  # readable by its owner only
        self.path = self._folder / "socket"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(str(self.path))
        os.chmod(self.path, 0o600)
        self._socket.listen()
        self._announced: Path | None = None
        self._open = 0
        self._pid = os.getpid()
        self.announce(None)
        threading.Thread(target=self._listen, name="sleuth-debug", daemon=True).start()

    @property
    def connected(self) -> bool:
        return self._open > 0

    @property
    def place(self) -> Path:
        """Return the argument of `sleuth debug --attach`: the run, or the socket's folder if there is none."""
        return self._announced.parent if self._announced is not None else self._folder

    def announce(self, folder: Path | None) -> None:
        """Write the socket's address into the trace folder of this process, and beside the socket."""
        if self._announced is not None and self._announced != folder:
            with contextlib.suppress(OSError):
                (self._announced / DEBUG_FILE).unlink()
        self._announced = folder
        told = json.dumps({"socket": str(self.path), "pid": self._pid})
        for place in (self._folder, folder):
            if place is not None:
                write_atomically(place / DEBUG_FILE, told)

    def close(self) -> None:
        if os.getpid() != self._pid:  # in a forked child, the files belong to the parent
            return
        with contextlib.suppress(OSError):
            self.announce(None)
            self._socket.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), name="sleuth-debugger", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        self._open += 1
        try:
            with connection, connection.makefile("rb") as lines, contextlib.suppress(OSError):
                while line := lines.readline(MAX_REQUEST_BYTES):
                    connection.sendall(self._reply(line) + b"\n")
        finally:
            self._open -= 1

    def _reply(self, line: bytes) -> bytes:
        try:
            asked = json.loads(line)
            if not isinstance(asked, dict):
                raise SleuthError('a request is a JSON object, such as {"do": "status"}.')
            reply = self._answer(asked)
        except SleuthError as error:
            reply = {"error": str(error)}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        return json.dumps(reply, default=str).encode()
