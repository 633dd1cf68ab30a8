"""Server-sent events of a growing run, as long as somebody listens."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.concurrency import run_in_threadpool

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.ui.web.run.question import Answer
from tensorsleuth.ui.web.server.pause_state import PauseWatcher
from tensorsleuth.ui.web.server.replies import encode_json

SECONDS_BETWEEN_LOOKS = 0.5  # at most two events a second
SECONDS_BETWEEN_LOOKS_ENDED = 2.0  # of a run that has ended, which another program may join
SECONDS_TO_WRITE_END = 30.0  # in which `sleuth run` should have written the program's end
SECONDS_TO_HEARTBEAT = 15.0  # after that silence a comment is sent, so that proxies keep the connection
VERDICT_SHARE = 10  # a verdict takes at most a tenth of the time
CHANGE_KEYS = ("cursor", "tensors", "bad", "steps", "lastStep", "status", "live")

Ask = Callable[[], dict[str, Any]]


@dataclass
class RunFollower:
    """Polls one run for one listener, and returns what is new."""

    run: Ask
    verdict: Ask
    last_change: dict[str, Any] | None = None
    last_verdict: bytes | None = None
    verdict_basis: object = None
    rest_until: float = field(default=0.0)
    gone_at: float | None = None

    def news(self, now: Callable[[], float] = time.monotonic) -> list[tuple[str, bytes]]:
        """Return the events since the last poll."""
        run = self.run()
        change = self._not_yet_gone({key: run[key] for key in CHANGE_KEYS}, now())
        events = [("change", encode_json(change))] if change != self.last_change else []
        self.last_change = change
        return events + self._verdict(change, now)

    def _not_yet_gone(self, change: dict[str, Any], now: float) -> dict[str, Any]:
        """Treat a program that has just ended as running until `sleuth run` has written how it ended."""
        if change["status"] != "unknown" or self.last_change is None or not self.last_change["live"]:
            self.gone_at = None
            return change
        self.gone_at = now if self.gone_at is None else self.gone_at
        return change if now - self.gone_at > SECONDS_TO_WRITE_END else {**change, "status": "running", "live": True}

    def _verdict(self, change: dict[str, Any], now: Callable[[], float]) -> list[tuple[str, bytes]]:
        """Return a new verdict if bad values or the program's end have changed."""
        ground = (change["bad"], change["status"])
        begun = now()
        if ground == self.verdict_basis or (begun < self.rest_until and change["live"]):
            return []
        verdict = encode_json(self.verdict())
        self.rest_until = now() + VERDICT_SHARE * (now() - begun)
        self.verdict_basis, before, self.last_verdict = ground, self.last_verdict, verdict
        return [("verdict", verdict)] if verdict != before else []

    @property
    def pause(self) -> float:
        return (
            SECONDS_BETWEEN_LOOKS
            if self.last_change is None or self.last_change["live"]
            else SECONDS_BETWEEN_LOOKS_ENDED
        )


@dataclass
class PauseFollower:
    """Asks the program whether it is paused, while nobody waits for the run."""

    watching: PauseWatcher
    tensor: Callable[[Answer], str | None]  # needs the run
    last_sent: bytes | None = None

    async def news(self, turn: asyncio.Lock) -> list[tuple[str, bytes]]:
        """Return the state, if it has changed."""
        state = await run_in_threadpool(self.watching.poll)
        async with turn:
            told = encode_json({**state, "tensor": await run_in_threadpool(self.tensor, state)})
        before, self.last_sent = self.last_sent, told
        return [("pause", told)] if told != before else []


async def event_stream(
    run_follower: RunFollower, pause_follower: PauseFollower, turn: asyncio.Lock, stopping: asyncio.Event
) -> AsyncIterator[bytes]:
    """Yield events until the listener leaves (then this is cancelled) or the server stops."""
    yield b"retry: 1000\n\n"
    quiet_since = time.monotonic()
    try:
        while not stopping.is_set():
            async with turn:
                news = await run_in_threadpool(run_follower.news)
            news += await pause_follower.news(turn)
            # the pause first: a client that learns of the program's end stops listening
            for kind, data in sorted(news, key=lambda one: one[0] != "pause"):
                yield b"event: %s\ndata: %s\n\n" % (kind.encode(), data)
            if news or time.monotonic() - quiet_since > SECONDS_TO_HEARTBEAT:
                quiet_since = time.monotonic()
                if not news:
                    yield b": still here\n\n"
            await _wait_for(stopping, run_follower.pause)
    except SleuthError:  # the run was deleted: the next request says so
        return
    finally:
        pause_follower.watching.close()


async def _wait_for(event: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except asyncio.TimeoutError:
        return
