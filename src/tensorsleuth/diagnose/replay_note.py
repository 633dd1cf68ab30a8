"""A note on a finding that a replay of the call showed."""

from __future__ import annotations

from tensorsleuth.core.replay_outcome import ReplayOutcome
from tensorsleuth.trace.process.process import ProcessTrace

_OUTCOME_WORDS = {
    ReplayOutcome.AGAIN: "when the call was replayed with the same inputs, variables and random numbers",
    ReplayOutcome.UNCOMPILED: (
        "when the call, which XLA compiles, was replayed without XLA: it went bad in the same way"
    ),
    ReplayOutcome.COMPILED: (
        "when the call was replayed with its tensors as outputs: it goes bad only if XLA compiles it"
    ),
    ReplayOutcome.NOT_REPRODUCED: "only by its results: the call was replayed, and the replay was healthy",
    ReplayOutcome.NOT_RUN: "only by its results: the call could not be replayed",
}


def describe_replay(process: ProcessTrace, call: int) -> str | None:
    """Return the note in words; None if the finding was recorded when it happened."""
    replay = process.catalogue.replays.get(call)
    if replay is None:
        return None
    why = f" ({replay.why})" if replay.why else ""
    return f"{_OUTCOME_WORDS[replay.outcome]}{why}"
