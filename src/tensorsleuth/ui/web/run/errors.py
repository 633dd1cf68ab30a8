"""Errors in a request of the page."""

from __future__ import annotations

from tensorsleuth.core.errors import SleuthError


class RequestError(SleuthError):
    """A reason why there is no answer, and what to do instead; `status` is an HTTP status."""

    status = 400

    def __init__(self, what: str, next: str | None = None) -> None:
        super().__init__(f"{what} {next}" if next else what)
        self.what = what
        self.next = next


class BadRequest(RequestError):
    """A parameter is invalid."""


class NotFound(RequestError):
    """The requested thing does not exist."""

    status = 404


class DamagedTrace(RequestError):
    """The trace contradicts itself: it is damaged, or hostile."""

    status = 422
