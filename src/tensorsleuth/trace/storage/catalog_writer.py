"""Writes the catalogue, which rows refer to. Each entry is written once, before the first row that needs it."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tensorsleuth.core.threads.gc_pause import GcPauseLock
from tensorsleuth.trace.storage.files import Folder
from tensorsleuth.trace.storage.journal import Journal
from tensorsleuth.trace.storage.size_plan import CATALOG_BYTES

MAX_SOURCE_LENGTH = 4 << 20

FrameKey = tuple[str, int, str]


class CatalogWriter:
    """Interns sites, functions, instances and eager ops, and hands out their ids. Any thread may call it."""

    def __init__(self, folder: Folder, is_user: Callable[[str], bool], bound: int = CATALOG_BYTES) -> None:
        self._journal = Journal(folder / "catalog.journal", bound)
        self._is_user = is_user
        self._lock = GcPauseLock()
        self._files: dict[str, int] = {}
        self._sites: dict[tuple[FrameKey, ...], int] = {}
        self._next: dict[str, int] = {}
        self._full = False
        self.has_gaps = False  # something was not covered

    def meta(self, fields: dict[str, Any]) -> None:
        self._write("meta", fields)

    def site(self, frames: Sequence[FrameKey]) -> int:
        """Return the id of a stack, outermost frame first."""
        key = tuple(frames)
        with self._lock:
            known = self._sites.get(key)
            if known is None:
                numbered = [[self._file(file), line, name] for file, line, name in key]
                known = self._sites[key] = self._next_number("site")
                self._write("site", {"id": known, "frames": numbered, "user": self._user_frame(key)})
            return known

    def frames(self, site: int) -> Sequence[FrameKey]:
        """Return the stack of a site."""
        with self._lock:
            return next((frames for frames, known in self._sites.items() if known == site), ())

    def source_texts(self, files: Iterable[str]) -> dict[str, str]:
        """Return the texts of the program's own files among these."""
        texts = {file: _source(file) for file in files if self._is_user(file)}
        return {file: text for file, text in texts.items() if text is not None}

    def function(self, fields: dict[str, Any]) -> int:
        return self._numbered("function", fields)

    def instance(self, fields: dict[str, Any], tensors: int) -> tuple[int, int]:
        """Return the ids of a new instance and of its first tensor."""
        with self._lock:
            first = self.take_tensors(tensors)
            return self._numbered("instance", fields | {"first": first}), first

    def eager_op(self, fields: dict[str, Any], outputs: int) -> tuple[int, int]:
        """Return the ids of a new eager op and of its first output."""
        with self._lock:
            first = self.take_tensors(outputs)
            return self._numbered("eager", fields | {"first": first, "outputs": outputs}), first

    def take_tensors(self, count: int) -> int:
        return self._next_number("tensor", count)

    def failure(self, fields: dict[str, Any]) -> None:
        self._write("failure", fields)

    def hidden_failure(self, fields: dict[str, Any]) -> None:
        """Write that a compiled call succeeded, but raised when it ran again uncompiled."""
        self._write("hidden", fields)

    def violation(self, fields: dict[str, Any]) -> None:
        """Write a broken expectation, with the text of its source file."""
        with self._lock:
            if isinstance(fields.get("file"), str):
                self._file(fields["file"])
            self._write("violation", fields)

    def dataset(self, fields: dict[str, Any]) -> None:
        """Write which dataset runs an instance, and where that dataset was made."""
        self._write("dataset", fields)

    def scopes(self, graph: int, paths: dict[str, str]) -> None:
        """Write the program's names of scopes that have another name in a graph, or (-1) in eager code."""
        self._write("scopes", {"graph": graph, "paths": paths})

    def variable(self, uid: int, name: str, role: str) -> None:
        """Write a variable's name, if its own name is no help; `role` is `optimizer`, `metric` or empty."""
        self._write("variable", {"uid": uid, "name": name, "role": role})

    def creation(self, fields: dict[str, Any]) -> None:
        """Write the expression that made a part of the program; the text of its file goes along."""
        with self._lock:
            self._file(fields["file"])
            self._write("made", fields)

    def unused_tape_variables(self, fields: dict[str, Any]) -> None:
        """Write the variables that tapes watched, with and without a requested gradient."""
        self._write("left_out", fields)

    def loss(self, fields: dict[str, Any]) -> None:
        """Write the eager op that made a loss, and the variables whose gradients a tape was asked for."""
        self._write("loss", fields)

    def missing_gradients(self, fields: dict[str, Any]) -> None:
        """Write the variables for which a tape returned None, and the op that made the loss."""
        self._write("no_gradient", fields)

    def gradient_found(self, uids: list[int]) -> None:
        """Write that variables without a gradient have one now."""
        self._write("gradient", {"variables": uids})

    def idle_update(self, fields: dict[str, Any]) -> None:
        """Write an optimizer's op that no session runs, or, without an op, that a session of the graph trains now."""
        self._write("idle_update", fields)

    def series(self, fields: dict[str, Any]) -> None:
        """Write a new watched series."""
        self._write("series", fields)

    def log(self, fields: dict[str, Any]) -> None:
        """Write a message that the program logged."""
        self._write("log", fields)

    def text_summary(self, fields: dict[str, Any]) -> None:
        """Write a summary of the texts that a line reads. The latest summary of a line counts."""
        self._write("texts", fields)

    def pattern(self, text: str) -> None:
        """Write the pattern at which eager code splits texts, or that it replaces in them."""
        self._write("pattern", {"text": text})

    def step(self, fields: dict[str, Any]) -> None:
        self._write("step", fields)

    def trace(self, fields: dict[str, Any]) -> None:
        """Write the arguments that a function was traced for, at its first call, with the text of its source file."""
        with self._lock:
            if isinstance(fields.get("file"), str):
                self._file(fields["file"])
            self._write("trace", fields)

    def replay(self, fields: dict[str, Any]) -> None:
        """Write that a call ran again, and the result."""
        self._write("replay", fields)

    def bad_read(self, uid: int, site: int, has_nan: bool, has_finite: bool) -> None:
        """Write that Python read a tensor with a NaN or an infinity in it."""
        self._write("bad_read", {"uid": uid, "site": site, "nan": has_nan, "finite": has_finite})

    def not_covered(self, what: str, why: str, site: int = 0, unseen: bool = False) -> None:
        """Write that a part is not recorded, so that no gap is silent. `unseen`: nor are its results."""
        self.has_gaps = True
        self._write("not_covered", {"what": what, "why": why, "site": site, "unseen": unseen})

    def close(self) -> None:
        with self._lock:
            self._full = True
            self._journal.close()

    def _numbered(self, kind: str, fields: dict[str, Any]) -> int:
        with self._lock:
            number = self._next_number(kind)
            self._write(kind, fields | {"id": number})
            return number

    def _next_number(self, kind: str, count: int = 1) -> int:
        with self._lock:
            first = self._next.get(kind, 1)
            self._next[kind] = first + count
            return first

    def _file(self, path: str) -> int:
        known = self._files.get(path)
        if known is None:
            known = self._files[path] = self._next_number("file")
            text = _source(path) if self._is_user(path) else None
            self._write("file", {"id": known, "path": path, "text": text})
        return known

    def _user_frame(self, frames: tuple[FrameKey, ...]) -> int:
        own = [index for index, frame in enumerate(frames) if self._is_user(frame[0])]
        return own[-1] if own else len(frames) - 1

    def _write(self, kind: str, fields: dict[str, Any]) -> None:
        with self._lock:
            if self._full:
                return
            try:
                self._full = not self._journal.append(kind, fields)
            except OSError as error:
                self._full = True
                raise error


def _source(path: str) -> str | None:
    """Return a file as Python has it now. Cells of notebooks are in linecache."""
    linecache.checkcache(path)
    text = "".join(linecache.getlines(path))
    return text if text and len(text) <= MAX_SOURCE_LENGTH else None
