"""Calls that raised: what was computed last before that."""

from __future__ import annotations

from tensorsleuth.model.catalog import Failure
from tensorsleuth.page.opened import OpenRun
from tensorsleuth.page.stands_for import places_for
from tensorsleuth.trace.asked import Asked
from tensorsleuth.trace.calls import NOWHERE
from tensorsleuth.trace.ring_reader import Array


def failed_places(opened: OpenRun) -> Array:
    """For each call that raised, the place of its last tensor; of one that went in, where there is none."""
    return places_for(opened, lambda catalogue: catalogue.failures, _last_event)


def _last_event(asked: Asked, failure: Failure) -> int | None:
    calls = asked.moments.calls
    inside = calls.places(failure.call) if failure.call >= 0 else NOWHERE
    if len(inside):
        return int(inside[-1])
    given = (calls.event_of(uid) for uid in reversed(calls.inputs(failure.call)))
    return next((event for event in given if event is not None), None)
