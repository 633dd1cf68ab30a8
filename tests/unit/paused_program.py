"""A small server that speaks the protocol of a paused program."""

from __future__ import annotations

import json
import math
import os
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tensorsleuth.core.ops.reductions import EXAMPLE_STEP

NAME = "layer_0/Log_4"


class FakeProgram:
    """Paused at Log; each step pauses at the next op, `continue` runs to its end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.heard: list[dict[str, Any]] = []
        self.state, self.at = "paused", 4
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(path))
        self._server.listen()
        self._talks: list[socket.socket] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                talk, _ = self._server.accept()
            except OSError:
                return
            self._talks.append(talk)
            threading.Thread(target=self._talk, args=(talk,), daemon=True).start()

    def _talk(self, talk: socket.socket) -> None:
        with suppress(OSError), talk, talk.makefile("rb") as lines:  # the client may leave at any time
            for line in lines:
                request = json.loads(line)
                self.heard.append(request)
                talk.sendall(self.reply(request))
                if request["do"] == "stop":
                    self.close()

    def reply(self, request: dict[str, Any]) -> bytes:
        return json.dumps(self.answer(request)).encode() + b"\n"

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        match request["do"]:
            case "status":
                op = EXAMPLE_STEP[self.at % 10]
                where = {"name": f"layer_{self.at // 10}/{op}_{self.at}", "op": op, "step": 0, "file": "train.py"}
                where |= {"line": 18, "tensor": f"{where['name']}:0"}
                more = {
                    "why": "nan > 0",
                    "pause": self.at,
                    "dtype": "float32",
                    "shape": [2, 2],
                    "seen": {"norm": math.nan},
                }
                return {"state": self.state, "where": where, **(more if self.state == "paused" else {})}
            case "step" | "until":
                self.at += 1
            case "continue":
                self.state = "running"
            case "value" if (request["name"] or "layer").startswith("layer"):
                return {"dtype": "float32", "shape": [2, 2], "values": [[1.0, -2.0], [0.0, 4.0]], "truncated": True}
            case "eval":
                return {"dtype": "int64", "shape": [], "values": 3, "truncated": False, "text": "np.int64(3)"}
            case "stop":
                pass
            case _:
                return {"error": f"there is no tensor {request.get('name')!r} here"}
        return {}

    def close(self) -> None:
        with suppress(OSError):  # closed already
            self._server.shutdown(socket.SHUT_RDWR)  # wakes a thread that waits in accept
        self._server.close()
        for talk in self._talks:
            with suppress(OSError):  # closed already
                talk.shutdown(socket.SHUT_RDWR)


@contextmanager
def pausing(folder: Path) -> Iterator[FakeProgram]:
    """One that says in a folder where it is."""
    with tempfile.TemporaryDirectory(prefix="sleuth-debug-") as short:  # the path of a socket may not be long
        program = FakeProgram(Path(short) / "socket")
        (folder / "debug.json").write_text(json.dumps({"socket": str(program.path), "pid": os.getpid()}))
        yield program
        program.close()
