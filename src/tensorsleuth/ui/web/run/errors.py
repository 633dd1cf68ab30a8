"""Errors in a question of the page."""

from __future__ import annotations

from tensorsleuth.core.errors import SleuthError


class RequestError(SleuthError):
    """Why there is no answer, and what to do instead; `status` is HTTP's."""

    status = 400

    def __init__(self, what: str, next: str | None = None) -> None:
        super().__init__(f"{what} {next}" if next else what)
        self.what = what
        self.next = next


class BadRequest(RequestError):
    """A parameter that makes no sense."""


class NotFound(RequestError):
    """The requested thing does not exist."""

    status = 404


class DamagedTrace(RequestError):
    """The trace contradicts itself: it is damaged, or made to mislead."""

    status = 422
