"""How a finding was seen, where that was not when it happened: the call was run again."""

from __future__ import annotations

from tensorsleuth.core.replay_outcome import Outcome
from tensorsleuth.trace.process.process import ProcessTrace

_WORDS = {
    Outcome.AGAIN: "when the call was run again with the same inputs, variables and random numbers",
    Outcome.UNCOMPILED: "when the call, which XLA compiles, was run again uncompiled: it went bad in the same way",
    Outcome.COMPILED: "when the call was run again with its tensors handed out: it goes bad only when XLA compiles it",
    Outcome.NOT_REPRODUCED: "from outside only: the call was run again, and went well",
    Outcome.NOT_RUN: "from outside only: the call could not be run again",
}


def how_seen(process: ProcessTrace, call: int) -> str | None:
    """In words; None where it was seen when it happened."""
    replay = process.catalogue.replays.get(call)
    if replay is None:
        return None
    why = f" ({replay.why})" if replay.why else ""
    return f"{_WORDS[replay.outcome]}{why}"
