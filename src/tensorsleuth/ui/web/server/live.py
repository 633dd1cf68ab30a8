"""A run that goes on: server-sent events, for as long as somebody listens."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.concurrency import run_in_threadpool

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.ui.web.run.question import Answer
from tensorsleuth.ui.web.server.pause_state import Watching
from tensorsleuth.ui.web.server.replies import encoded

PAUSE = 0.5  # seconds between two looks: at most two events a second
ENDED_PAUSE = 2.0  # the same, of a run that has ended: it may be joined by another program
GRACE = 30.0  # seconds for the end of a program that is gone to be written down
HEART_BEAT = 15.0  # seconds of silence after which a comment is sent, so that nothing on the way gives up
VERDICT_SHARE = 10  # a verdict is asked for at most so often that it takes a tenth of the time
CHANGE = ("cursor", "tensors", "bad", "steps", "lastStep", "status", "live")

Ask = Callable[[], dict[str, Any]]


@dataclass
class Follower:
    """Looks at one run for one listener, and says what is new."""

    run: Ask
    verdict: Ask
    seen: dict[str, Any] | None = None
    judged: bytes | None = None
    bad: object = None
    rest_until: float = field(default=0.0)
    gone_at: float | None = None

    def news(self, now: Callable[[], float] = time.monotonic) -> list[tuple[str, bytes]]:
        """The events since the last look."""
        run = self.run()
        change = self._not_yet_gone({key: run[key] for key in CHANGE}, now())
        events = [("change", encoded(change))] if change != self.seen else []
        self.seen = change
        return events + self._verdict(change, now)

    def _not_yet_gone(self, change: dict[str, Any], now: float) -> dict[str, Any]:
        """A program that was there a moment ago is, until `sleuth run` has written down how it ended."""
        if change["status"] != "unknown" or self.seen is None or not self.seen["live"]:
            self.gone_at = None
            return change
        self.gone_at = now if self.gone_at is None else self.gone_at
        return change if now - self.gone_at > GRACE else {**change, "status": "running", "live": True}

    def _verdict(self, change: dict[str, Any], now: Callable[[], float]) -> list[tuple[str, bytes]]:
        """A verdict rests on what is bad and on how the program ended: it is asked for again where these changed."""
        ground = (change["bad"], change["status"])
        begun = now()
        if ground == self.bad or (begun < self.rest_until and change["live"]):
            return []
        verdict = encoded(self.verdict())
        self.rest_until = now() + VERDICT_SHARE * (now() - begun)
        self.bad, before, self.judged = ground, self.judged, verdict
        return [("verdict", verdict)] if verdict != before else []

    @property
    def pause(self) -> float:
        return PAUSE if self.seen is None or self.seen["live"] else ENDED_PAUSE


@dataclass
class Standing:
    """Ask the program whether it is paused, while nobody has to wait for the run."""

    watching: Watching
    tensor: Callable[[Answer], str | None]  # asked of the run
    said: bytes | None = None

    async def news(self, turn: asyncio.Lock) -> list[tuple[str, bytes]]:
        """Return the state, if it has changed."""
        state = await run_in_threadpool(self.watching.look)
        async with turn:
            told = encoded({**state, "tensor": await run_in_threadpool(self.tensor, state)})
        before, self.said = self.said, told
        return [("pause", told)] if told != before else []


async def events(
    follower: Follower, standing: Standing, turn: asyncio.Lock, stopping: asyncio.Event
) -> AsyncIterator[bytes]:
    """The stream, until the listener goes (then this is cancelled) or the server stops."""
    yield b"retry: 1000\n\n"
    quiet_since = time.monotonic()
    try:
        while not stopping.is_set():
            async with turn:
                news = await run_in_threadpool(follower.news)
            news += await standing.news(turn)
            # the pause first: who hears that a program is no longer there listens no longer
            for kind, data in sorted(news, key=lambda one: one[0] != "pause"):
                yield b"event: %s\ndata: %s\n\n" % (kind.encode(), data)
            if news or time.monotonic() - quiet_since > HEART_BEAT:
                quiet_since = time.monotonic()
                if not news:
                    yield b": still here\n\n"
            await _until(stopping, follower.pause)
    except SleuthError:  # the run was deleted: who asks again is told so
        return
    finally:
        standing.watching.close()


async def _until(event: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except asyncio.TimeoutError:
        return
