"""The connection to a running or paused program: each request and each answer is one line of JSON over a socket."""

from __future__ import annotations

import json
import os
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.trace.storage.files import open_regular

ADDRESS_FILE = "debug.json"  # in a process's folder: {"socket": path, "pid": number}
SOCKET_FOLDER_PREFIX, SOCKET_NAME = (
    "sleuth-debug-",
    "socket",
)  # how the folder of a program's socket begins, and what that is called there
SECONDS_TO_ANSWER = 10.0  # in seconds
MAX_ANSWER_BYTES = 64 << 20  # bytes of an answer
SECONDS_BETWEEN_POLLS = 0.05


class ProgramGone(SleuthError):
    """The program no longer exists."""


class LiveConnection(Protocol):
    """A connection to a live program. Answers are the dictionaries of the protocol."""

    def ask(self, do: str, **more: Any) -> dict[str, Any]: ...

    def wait_for_pause(self, seconds: float) -> dict[str, Any]: ...


class LiveProgram:
    """The client's end of the socket."""

    def __init__(self, path: Path, pid: int | None, timeout: float = SECONDS_TO_ANSWER) -> None:
        self.pid = pid
        self._one_at_a_time = Lock()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout)
        try:
            self._socket.connect(str(_own_socket(path)))
        except OSError as error:
            self._socket.close()
            raise SleuthError(
                f"{self._who} does not answer at {path}: {error.strerror or error}. {_STILL_RUNNING_HINT}"
            ) from error
        self._answers = self._socket.makefile("rb")

    @property
    def _who(self) -> str:
        return f"the program (pid {self.pid})" if self.pid is not None else "the program"

    def ask(self, do: str, **more: Any) -> dict[str, Any]:
        """Send a request and return its answer. An error in the answer is raised."""
        try:
            with self._one_at_a_time:
                self._socket.sendall(json.dumps({"do": do, **more}).encode() + b"\n")
                line = self._answers.readline(MAX_ANSWER_BYTES)
        except TimeoutError as error:
            took = f"{self._socket.gettimeout():g} s"
            raise SleuthError(f"{self._who} has not answered {do!r} for {took}. It may be busy: try again.") from error
        except OSError as error:
            raise ProgramGone(f"{self._who} has gone: {error.strerror}. {_RECORDED_HINT}") from error
        return self._parse_answer(do, line)

    def _parse_answer(self, do: str, line: bytes) -> dict[str, Any]:
        if not line:
            raise ProgramGone(f"{self._who} has gone: it closed the connection. {_RECORDED_HINT}")
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise SleuthError(f"{self._who} did not answer {do!r} with a JSON object: {line[:60]!r}.")
        if "error" in answer:
            raise SleuthError(f"{self._who} says: {answer['error']}")
        return answer

    def wait_for_pause(self, seconds: float) -> dict[str, Any]:
        """Return the status as soon as the program is paused, or after `seconds`."""
        end = time.monotonic() + seconds
        status = self.ask("status")
        while status.get("state") != "paused" and time.monotonic() < end:
            time.sleep(SECONDS_BETWEEN_POLLS)
            status = self.ask("status")
        return status

    def close(self) -> None:
        self._answers.close()
        self._socket.close()


_STILL_RUNNING_HINT = "Is it still running? See: sleuth runs"
_RECORDED_HINT = "Its recording is still there: sleuth debug"


def connect(run: Path, timeout: float = SECONDS_TO_ANSWER) -> LiveProgram:
    """Connect to the paused process of a run, or if none is paused, to the first that answers."""
    troubles: list[str] = []
    lines: list[LiveProgram] = []
    addresses = list(_addresses(run))
    for path, pid in addresses:
        try:
            line = LiveProgram(path, pid, timeout)
        except SleuthError as error:
            troubles.append(str(error))
            continue
        if len(addresses) == 1 or _is_paused(line):
            _close_all(lines)
            return line
        lines.append(line)
    if lines:
        _close_all(lines[1:])
        return lines[0]
    if troubles:
        raise SleuthError(troubles[0])
    raise SleuthError(f"no process of {run.name} waits for a debugger. To pause at a condition: sleuth run --break …")


def _is_paused(line: LiveProgram) -> bool:
    try:
        return line.ask("status").get("state") == "paused"
    except SleuthError:
        return False


def _close_all(lines: list[LiveProgram]) -> None:
    for line in lines:
        line.close()


def announced_count(run: Path) -> int:
    """Return the number of processes that announced an address. A process withdraws it at its end, unless killed."""
    return sum(1 for _ in _addresses(run))


def holds_address(folder: Path) -> bool:
    """Return whether a program that records no run left its address in a folder."""
    return (folder / ADDRESS_FILE).is_file()


def has_socket(run: Path) -> bool:
    """Return whether a debugger can connect to a process of a run, as far as its files say."""
    return any(path.is_socket() for path, _ in _addresses(run))


def _addresses(run: Path) -> Iterator[tuple[Path, int | None]]:
    for file in [run / ADDRESS_FILE, *sorted(run.glob(f"p-*/{ADDRESS_FILE}"))]:
        try:
            with open_regular(file) as opened:
                said = json.loads(opened.read(1 << 16))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(said, dict) and isinstance(said.get("socket"), str):
            pid = said.get("pid")
            yield file.parent / said["socket"], pid if isinstance(pid, int) else None


def _own_socket(path: Path) -> Path:
    """Return the path if it is a socket of tensorsleuth and of this user: a foreign run may name anything."""
    real = path.resolve(strict=True)
    status = os.stat(real)
    if not stat.S_ISSOCK(status.st_mode):
        raise OSError("it is not a socket")
    if status.st_uid != os.getuid():
        raise OSError("it belongs to another user")
    if real.name != SOCKET_NAME or not real.parent.name.startswith(SOCKET_FOLDER_PREFIX):
        raise OSError("it is not a socket of tensorsleuth")
    return real
