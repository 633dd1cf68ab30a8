"""Memory that nothing was written to."""

from __future__ import annotations

from tensorsleuth.diagnose.nan.case import Case, Story


def match(case: Case) -> Story | None:
    if case.op != "Empty":
        return None
    return Story("uninitialised", 0.95, "takes memory that nothing was written to", "use tf.zeros, or write it first")
