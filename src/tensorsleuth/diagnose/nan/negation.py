"""A minus sign in front of an argument that had to be positive."""

from __future__ import annotations

from tensorsleuth.diagnose.nan.case import Case


def negation_words(case: Case, slot: int = 0) -> str:
    """Say that a minus made the input negative, if nothing else did: all that it negates was positive."""
    minus, seen = case.negation(slot), case.input_range(slot)
    if minus is None or seen is None or seen[1] > 0:
        return ""
    site = case.neighbours.site(minus)
    here = case.site.frame if case.site is not None else None
    line = f" in line {site.frame.line}" if site is not None and site.frame not in (None, here) and site.frame else ""
    return f", and the minus sign{line} made them so: without it they are {-seen[1]:.4g} … {-seen[0]:.4g}"
