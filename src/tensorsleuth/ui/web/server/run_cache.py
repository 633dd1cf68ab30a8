"""The runs that are open. A name from a request is looked up among the runs that there are; it never becomes a path."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from tensorsleuth.data.tokens.vocabulary import Vocabulary
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.ui.web.answers import QUESTIONS
from tensorsleuth.ui.web.run.errors import NoSuchThing
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Answer, Parameters, Question
from tensorsleuth.ui.web.server.console import Console
from tensorsleuth.ui.web.server.pause_state import tensor_of

ROOM = 3  # runs kept open: the one looked at, the one it is compared with, the one before


def question_at(path: str) -> Question:
    """The question with that path; "" is about the run itself."""
    return next(question for question in QUESTIONS if question.path == path)


@dataclass
class Book:
    """An open run, and whose turn it is to ask it: those who wait hold no thread, and may go away."""

    opened: OpenRun
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    console: Console = field(init=False)  # talks to its program, where that is paused

    def __post_init__(self) -> None:
        self.console = Console(self.opened.path)

    def ask(self, question: Question, asked: Parameters) -> Answer:
        """The answer, of the run as it is now."""
        with self.opened.lock:
            self.opened.refresh()
            return question.answer(self.opened, asked)

    def paused_at(self, pause: Answer) -> str | None:
        """The id of the tensor that its program is paused at, where the run has it."""
        with self.opened.lock:
            self.opened.refresh()
            return tensor_of(self.opened, pause)


class Shelf:
    """The open runs of a log directory; beyond `room`, the one that was asked longest ago is let go."""

    def __init__(self, logdir: Path, room: int = ROOM, vocabulary: Vocabulary | None = None) -> None:
        self.logdir = logdir
        self.vocabulary = vocabulary
        self.room = room
        self._books: OrderedDict[str, Book] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, name: str) -> Book:
        """The run of that name, opened where it was not."""
        path = self.path(name)
        with self._lock:
            book = self._books.pop(name, None) or Book(OpenRun(path, self.vocabulary))
            self._books[name] = book
            while len(self._books) > self.room:
                self._books.popitem(last=False)
            return book

    def path(self, name: str) -> Path:
        """Return the path of a run; it may have been deleted since it was opened."""
        for path in run_folder.list_runs(self.logdir):
            if path.name == name:
                return path
        with self._lock:
            self._books.pop(name, None)
        raise NoSuchThing(f"There is no run {name!r} here.", "Choose another in the list of runs.")

    @property
    def names(self) -> list[str]:
        return list(self._books)
