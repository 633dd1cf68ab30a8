"""The user's own frames in a call stack."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from functools import cache
from types import CodeType, FrameType
from typing import Any
from weakref import WeakKeyDictionary

from tensorsleuth.recording.tensorflow.autograph import original_frame
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter, FrameKey

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_DEMO_FOLDER = os.path.join(_PACKAGE, "demo") + os.sep
_STDLIB = os.path.abspath(sysconfig.get_paths()["stdlib"]) + os.sep
_FRAMEWORKS = ("tensorflow", "keras", "tf_keras", "tensorflow_estimator", "numpy", "absl", "wrapt", "optree")


@cache
def is_framework_file(path: str) -> bool:
    """Return whether a file belongs to TensorFlow, Keras, us or the standard library, and so is never the cause."""
    if path.startswith(_PACKAGE):
        return not path.startswith(_DEMO_FOLDER)
    if path.startswith("<frozen") or (path.startswith(_STDLIB) and not _is_installed(path)):
        return True
    return any(f"{os.sep}{part}{os.sep}{name}{os.sep}" in path for part in _INSTALL_FOLDERS for name in _FRAMEWORKS)


_INSTALL_FOLDERS = ("site-packages", "dist-packages")


def _is_installed(path: str) -> bool:
    return any(f"{os.sep}{part}{os.sep}" in path for part in _INSTALL_FOLDERS)


@cache
def is_user_file(path: str) -> bool:
    """Return whether a file belongs to the program itself and not to an installed package."""
    return not is_framework_file(path) and not _is_installed(path)


def is_ours(frame: FrameType | None) -> bool:
    """Return whether our code runs on this stack, and not the program."""
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        if frame.f_code.co_filename.startswith(_PACKAGE):
            return True
        frame = frame.f_back
    return False


class CallSites:
    """Interns call stacks, without frames of frameworks."""

    def __init__(self, catalog: CatalogWriter) -> None:
        self._catalog = catalog
        self._known: dict[tuple[FrameKey, ...], int] = {}
        self._innermost: dict[int, FrameKey] = {}  # by site
        self._places: dict[tuple[int, ...], int] = {}  # by the addresses of code objects and the offsets in them
        self._alive: dict[int, CodeType] = {}  # keeps code objects, so that Python does not reuse their addresses
        self._thread_starts: WeakKeyDictionary[Any, tuple[FrameKey, ...]] = WeakKeyDictionary()

    def intern(self, frames: Iterable[FrameKey]) -> int:
        """Return the id of a stack, outermost frame first. Drop frames of frameworks unless there are no others."""
        whole = tuple(frames)
        known = self._known.get(whole)
        if known is None:
            kept = (
                tuple(frame for frame in map(original_frame, whole) if frame and not is_framework_file(frame[0]))
                or whole[-1:]
            )
            known = self._known[whole] = self._catalog.site(kept)
            self._innermost[known] = kept[-1]
        return known

    def innermost(self, site: int) -> FrameKey | None:
        """Return the innermost frame of a site."""
        return self._innermost.get(site)

    def of_graph_op(self, op: object) -> int:
        """Return the site of an op in a Python graph, from the stack that TensorFlow stored when it created the op."""
        traceback = op.traceback  # type: ignore[attr-defined]
        if traceback is None:  # a saved model contains the op, so no Python code created it
            return 0
        frames = [(frame.filename, frame.lineno, frame.name) for frame in traceback.get_user_frames()]
        if self._thread_starts and not any(is_user_file(frame[0]) for frame in frames):
            started = self._start_of(op.graph)  # type: ignore[attr-defined]
            if started:
                return self._catalog.site((*started, *frames[-1:]))
        return self.intern(frames)

    def note_thread_start(self, graph: object) -> None:
        """Keep the current stack for a graph in which other threads will create ops: their stacks do not contain it."""
        found = (original_frame(frame) for frame in reversed(list(_frames(sys._getframe(1)))))
        self._thread_starts[graph] = tuple(frame for frame in found if frame and is_user_file(frame[0]))

    def _start_of(self, graph: Any) -> tuple[FrameKey, ...]:
        """Return the stack that started the threads of a graph or of an outer graph."""
        while graph is not None and graph not in self._thread_starts:
            graph = getattr(graph, "outer_graph", None)
        return self._thread_starts[graph] if graph is not None else ()

    def of_caller(self, depth: int = 1) -> int:
        """Return the site of the Python code that is running now."""
        key: list[int] = []
        frame: FrameType | None = sys._getframe(depth + 1)
        while frame is not None:
            key += (id(frame.f_code), frame.f_lasti)
            frame = frame.f_back
        place = tuple(key)
        known = self._places.get(place)
        if known is None:
            known = self._places[place] = self._intern_caller(sys._getframe(depth + 1))
        return known

    def _intern_caller(self, caller: FrameType) -> int:
        frame: FrameType | None = caller
        while frame is not None:
            self._alive[id(frame.f_code)] = frame.f_code
            frame = frame.f_back
        return self.intern(reversed(list(_frames(caller))))


def _frames(frame: FrameType | None) -> Iterator[FrameKey]:
    """Yield the frames of a stack, innermost first."""
    while frame is not None:
        yield frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
        frame = frame.f_back


def caller_line() -> tuple[str | None, int | None]:
    """Return the file and line of the program that is running now."""
    for frame in _frames(sys._getframe(1)):
        found = original_frame(frame)
        if found is not None and is_user_file(found[0]):
            return found[0], found[1]
    return None, None
