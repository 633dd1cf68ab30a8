"""The line that fed a value to the program."""

from __future__ import annotations

from tensorsleuth.diagnose.case import Case
from tensorsleuth.model.catalog import Site


def source_of(case: Case) -> Site | None:
    """The dataset's source, farthest back on a line of the user's; or the call that was given the value."""
    finder, sites, out = case.finder, case.process.catalogue.sites, case.out
    if out.op == "Argument" and out.call >= 0:
        op = finder.moments.calls.op(out.call)
        return sites.get(op.site) if op is not None else None
    found = (sites.get(op.site) for op, _ in reversed(finder.datasets_behind(out)))
    return next((site for site in found if site is not None and site.frame is not None), case.site)
