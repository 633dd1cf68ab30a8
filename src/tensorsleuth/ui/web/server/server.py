"""The server in this process: its port, and an end that does not wait for open connections."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import signal
import socket
from collections.abc import Mapping
from types import FrameType
from typing import Any

import uvicorn
from anyio import to_thread

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.ui.web.page_files import PageFile
from tensorsleuth.ui.web.server.access_control import AccessPolicy
from tensorsleuth.ui.web.server.app import make_app
from tensorsleuth.ui.web.server.run_cache import RunCache

DEFAULT_PORT = 6070
PORTS_TO_TRY = 20  # one after the other, before any free one is taken
SECONDS_TO_FINISH = 1  # for an answer in progress when the server stops
ANSWER_THREADS = 6  # a run answers one request at a time, and few runs are open
M_MMAP_THRESHOLD = -3  # of mallopt, see malloc.h
MMAP_THRESHOLD_BYTES = 1 << 20  # bytes
UVICORN_OPTIONS: dict[str, Any] = {
    "http": "h11",
    "loop": "asyncio",
    "ws": "none",
    "lifespan": "off",
    "log_level": "error",
    "access_log": False,  # it would print the token
    "server_header": False,
    "proxy_headers": False,  # a client could claim to be another
    "timeout_keep_alive": 60,
    "timeout_graceful_shutdown": SECONDS_TO_FINISH,
}


class PageServer(uvicorn.Server):
    """Serves until it is stopped, usually by Ctrl-C, which is no error."""

    def __init__(self, run_cache: RunCache, files: Mapping[str, PageFile], access_policy: AccessPolicy) -> None:
        self.stopping = asyncio.Event()
        app = make_app(run_cache, files, access_policy, self.stopping)
        super().__init__(uvicorn.Config(app, **UVICORN_OPTIONS))

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        to_thread.current_default_thread_limiter().total_tokens = ANSWER_THREADS
        give_back_memory()
        await super().serve(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.stopping.set()  # event streams then end by themselves
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        if sig == signal.SIGINT:
            self._captured_signals.remove(sig)  # else the signal is raised again at the end


def give_back_memory() -> None:
    """Make malloc return freed arrays to the system: by default glibc keeps them, for each thread."""
    with contextlib.suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES)


def listen(host: str, port: int | None) -> socket.socket:
    """Return a socket that listens at once, so that nobody else gets the port. None means 6070 or the next free one."""
    tried = [port] if port is not None else [*range(DEFAULT_PORT, DEFAULT_PORT + PORTS_TO_TRY), 0]
    for number in tried:
        try:
            return _bound(host, number)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise SleuthError(_refused(host, number, error)) from error
    raise SleuthError(f"port {port} of {host} is taken. Leave out --port for a free one, or name another: --port 0")


def _bound(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(128)
    except OSError:
        bound.close()
        raise
    return bound


def _refused(host: str, port: int, error: OSError) -> str:
    if isinstance(error, socket.gaierror):
        return f"{host!r} is not an address of this machine: {error.strerror}. Leave out --host for this machine alone."
    if error.errno == errno.EACCES:
        return f"port {port} is for the administrator only. Leave out --port for a free one."
    return f"cannot listen at {host!r}, port {port}: {error.strerror}. Leave out --host for this machine alone."
