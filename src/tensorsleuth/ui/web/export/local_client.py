"""Requests answers as the page does, by path and parameters, and stores them under the page's addresses."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote, urlencode

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.ui.web.answers import QUESTIONS
from tensorsleuth.ui.web.run.question import Answer, Question
from tensorsleuth.ui.web.server.replies import encode_json
from tensorsleuth.ui.web.server.run_cache import CachedRun

Value = str | int | None
UNESCAPED = "-_.!~*'()"  # by JavaScript's encodeURIComponent


def address_of(run: str, path: str, parameters: dict[str, Value]) -> str:
    """Return the address as `get` in web/src/api/client.ts makes it."""
    base = f"api/runs/{quote(run, safe=UNESCAPED)}" + (f"/{path}" if path else "")
    return base + query_string(parameters)


def query_string(parameters: dict[str, Value]) -> str:
    """Return parameters as JavaScript's URLSearchParams writes them, sorted, without unset ones."""
    given = sorted((key, str(value)) for key, value in parameters.items() if value not in (None, ""))
    text = urlencode(given, safe="*").replace("~", "%7E")
    return f"?{text}" if text else ""


def match_question(path: str) -> tuple[Question, dict[str, str]]:
    """Return the question of a path, and the values of its placeholders."""
    for question in sorted(QUESTIONS, key=lambda question: question.path.count("{")):
        found = re.fullmatch(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", question.path), path)
        if found is not None:
            return question, found.groupdict()
    raise KeyError(path)


class LocalClient:
    """Keeps each answer by its address, up to a total size."""

    def __init__(self, cached_run: CachedRun, room: int) -> None:
        self.cached_run = cached_run
        self.room = room
        self.answers: dict[str, Any] = {}
        self.left_out = 0

    def __call__(self, path: str, **parameters: Value) -> Answer:
        """Return the answer. If the run refuses, keep the refusal for the page to show, and return an empty answer."""
        address = address_of(self.cached_run.opened.name, path, parameters)
        kept = self.answers.get(address)
        answer = self._ask(path, parameters) if kept is None else kept
        if kept is None:
            self.keep(address, answer)
        return {} if "error" in answer else answer

    def keep(self, address: str, answer: Answer) -> None:
        taken = len(encode_json(answer))
        if taken > self.room:
            self.left_out += 1
            return
        self.room -= taken
        self.answers[address] = answer

    def _ask(self, path: str, parameters: dict[str, Value]) -> Answer:
        question, braces = match_question(path)
        asked = {key: str(value) for key, value in parameters.items() if value not in (None, "")}
        try:
            return self.cached_run.ask(question, {**asked, **braces})
        except SleuthError as error:
            what, step = getattr(error, "what", str(error)), getattr(error, "next", None)
            return {"error": {"what": what, "next": step}}
