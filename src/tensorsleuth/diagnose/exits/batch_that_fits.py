"""The batch that would have fit, of a program that ran out of memory."""

from __future__ import annotations

from tensorsleuth.analyze.memory.batch_size.fit import Fit
from tensorsleuth.analyze.memory.batch_size.fit_report import GROUP, Fitting
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.diagnose.exits.allocation import wanted_bytes
from tensorsleuth.diagnose.exits.end import End

ROOM = 0.95  # of the limit: what is measured at the end is a moment old


def fits(end: End) -> str | None:
    """In words; None where nothing grows with a batch, or it is not known how much there was."""
    account, limit = end.account, end.memory.limit or end.memory.machine
    if limit is None or not len(account.samples):
        return None
    fit = Fit(account, "anonymous", _wanted(end))
    try:
        fit.check()
    except SleuthError:
        return None
    found = Fitting("", 0, fit, int(limit * ROOM), GROUP, fit.batch, fit.sequence)
    if found.fits:  # what it ran out of was not of the batch's making
        return None
    if _is_first_step(end):
        known = f"at most batch {found.largest_batch:,}" if found.largest_batch else "not even a batch of 1"
        return f"{known} ({fit.batch:,} was asked): its first step was not over, and may need more"
    return found.sentence


def _wanted(end: End) -> int:
    """Bytes that were being made, or could not be."""
    failures = end.process.catalogue.failures
    doing = end.doing.innermost if end.doing is not None and not end.doing.ended else None
    return max(wanted_bytes(failures[-1].message) if failures else 0, (doing.bytes or 0) if doing is not None else 0)


def _is_first_step(end: End) -> bool:
    calls = end.process.calls
    steps = calls["step"][calls["kind"] == CallKind.ENDED]
    return not bool((steps < max(end.threads.step or 0, 0)).any() and (steps >= 0).any())
