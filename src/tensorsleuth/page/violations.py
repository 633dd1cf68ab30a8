"""What was not as the program expected: which tensor to show for it."""

from __future__ import annotations

import numpy as np

from tensorsleuth.model.violation import Violation
from tensorsleuth.page.opened import OpenRun
from tensorsleuth.page.stands_for import places_for
from tensorsleuth.trace.asked import Asked
from tensorsleuth.trace.ring_reader import Array


def violated_places(opened: OpenRun) -> Array:
    """For each violation the place of the latest tensor before it, of its own line where there is one."""
    return places_for(opened, lambda catalogue: catalogue.violations, _event)


def _event(asked: Asked, violation: Violation) -> int | None:
    if violation.clock is None:
        return None
    times = asked.process.events["time"]
    before = np.flatnonzero(times <= np.uint64(violation.clock))
    ops = [at for at, op in enumerate(asked.index.ops) if (op.file, op.line) == (violation.file, violation.line)]
    near = before[np.isin(asked.places[before], ops)] if ops else before[:0]
    chosen = near if len(near) else before
    return int(chosen[np.argmax(times[chosen])]) if len(chosen) else None
