"""The open runs. A name in a request is looked up among the existing runs, and never becomes a path."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from tensorsleuth.data.tokens.vocabulary import Vocabulary
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.ui.web.answers import QUESTIONS
from tensorsleuth.ui.web.run.errors import NotFound
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Answer, Parameters, Question
from tensorsleuth.ui.web.server.debugger_console import DebuggerConsole
from tensorsleuth.ui.web.server.pause_state import find_paused_tensor

MAX_OPEN_RUNS = 3  # the selected one, the one compared with it, and the one before


def question_for_path(path: str) -> Question:
    """Return the question with that path; "" is about the run itself."""
    return next(question for question in QUESTIONS if question.path == path)


@dataclass
class CachedRun:
    """An open run with a lock. A request that waits for it holds no thread, and can be cancelled."""

    opened: OpenRun
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    console: DebuggerConsole = field(init=False)  # talks to the run's paused program

    def __post_init__(self) -> None:
        self.console = DebuggerConsole(self.opened.path)

    def ask(self, question: Question, asked: Parameters) -> Answer:
        """Return the answer for the run as it is now."""
        with self.opened.lock:
            self.opened.refresh()
            return question.answer(self.opened, asked)

    def paused_at(self, pause: Answer) -> str | None:
        """Return the id of the tensor at which its program is paused, if the run has it."""
        with self.opened.lock:
            self.opened.refresh()
            return find_paused_tensor(self.opened, pause)


class RunCache:
    """The open runs of a log directory. Beyond `max_runs`, the least recently used one is closed."""

    def __init__(self, logdir: Path, max_runs: int = MAX_OPEN_RUNS, vocabulary: Vocabulary | None = None) -> None:
        self.logdir = logdir
        self.vocabulary = vocabulary
        self.max_runs = max_runs
        self._runs: OrderedDict[str, CachedRun] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: str) -> CachedRun:
        """Return the run of that name, opened if need be."""
        path = self.path(name)
        with self._lock:
            book = self._runs.pop(name, None) or CachedRun(OpenRun(path, self.vocabulary))
            self._runs[name] = book
            while len(self._runs) > self.max_runs:
                self._runs.popitem(last=False)
            return book

    def path(self, name: str) -> Path:
        """Return the path of a run; it may have been deleted since it was opened."""
        for path in run_folder.list_runs(self.logdir):
            if path.name == name:
                return path
        with self._lock:
            self._runs.pop(name, None)
        raise NotFound(f"There is no run {name!r} here.", "Choose another in the list of runs.")

    @property
    def names(self) -> list[str]:
        return list(self._runs)
