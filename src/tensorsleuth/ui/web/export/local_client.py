"""Asking a run as the page does: by path and parameters, under the very address that the page would use."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote, urlencode

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.ui.web.answers import QUESTIONS
from tensorsleuth.ui.web.run.question import Answer, Question
from tensorsleuth.ui.web.server.replies import encoded
from tensorsleuth.ui.web.server.run_cache import Book

Value = str | int | None
UNESCAPED = "-_.!~*'()"  # by encodeURIComponent of JavaScript


def address_of(run: str, path: str, parameters: dict[str, Value]) -> str:
    """As `get` in web/src/api/client.ts makes it."""
    base = f"api/runs/{quote(run, safe=UNESCAPED)}" + (f"/{path}" if path else "")
    return base + query(parameters)


def query(parameters: dict[str, Value]) -> str:
    """As URLSearchParams of JavaScript writes it, sorted, without what is not set."""
    given = sorted((key, str(value)) for key, value in parameters.items() if value not in (None, ""))
    text = urlencode(given, safe="*").replace("~", "%7E")
    return f"?{text}" if text else ""


def found_question(path: str) -> tuple[Question, dict[str, str]]:
    """Return the question that a path asks, and the values of its braces."""
    for question in sorted(QUESTIONS, key=lambda question: question.path.count("{")):
        found = re.fullmatch(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", question.path), path)
        if found is not None:
            return question, found.groupdict()
    raise KeyError(path)


class Asking:
    """Keeps each answer by its address, until there is no more room."""

    def __init__(self, book: Book, room: int) -> None:
        self.book = book
        self.room = room
        self.answers: dict[str, Any] = {}
        self.left_out = 0

    def __call__(self, path: str, **parameters: Value) -> Answer:
        """The answer; an empty one where the run refuses, which is kept as well: the page shows why."""
        address = address_of(self.book.opened.name, path, parameters)
        kept = self.answers.get(address)
        answer = self._ask(path, parameters) if kept is None else kept
        if kept is None:
            self.keep(address, answer)
        return {} if "error" in answer else answer

    def keep(self, address: str, answer: Answer) -> None:
        taken = len(encoded(answer))
        if taken > self.room:
            self.left_out += 1
            return
        self.room -= taken
        self.answers[address] = answer

    def _ask(self, path: str, parameters: dict[str, Value]) -> Answer:
        question, braces = found_question(path)
        asked = {key: str(value) for key, value in parameters.items() if value not in (None, "")}
        try:
            return self.book.ask(question, {**asked, **braces})
        except SleuthError as error:
            what, step = getattr(error, "what", str(error)), getattr(error, "next", None)
            return {"error": {"what": what, "next": step}}
