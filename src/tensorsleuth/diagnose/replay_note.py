"""The way in which a finding was seen, if that was in a replay of the call."""

from __future__ import annotations

from tensorsleuth.core.replay_outcome import Outcome
from tensorsleuth.trace.process.process import ProcessTrace

_WORDS = {
    Outcome.AGAIN: "when the call was replayed with the same inputs, variables and random numbers",
    Outcome.UNCOMPILED: "when the call, which XLA compiles, was replayed without XLA: it went bad in the same way",
    Outcome.COMPILED: "when the call was replayed with its tensors as outputs: it goes bad only if XLA compiles it",
    Outcome.NOT_REPRODUCED: "only by its results: the call was replayed, and the replay was healthy",
    Outcome.NOT_RUN: "only by its results: the call could not be replayed",
}


def how_seen(process: ProcessTrace, call: int) -> str | None:
    """In words; None where it was seen when it happened."""
    replay = process.catalogue.replays.get(call)
    if replay is None:
        return None
    why = f" ({replay.why})" if replay.why else ""
    return f"{_WORDS[replay.outcome]}{why}"
