"""The batch that would have fit, of a program that ran out of memory."""

from __future__ import annotations

from tensorsleuth.analyze.memory.batch_size.fit_report import LIMIT_OF_CGROUP, FitReport
from tensorsleuth.analyze.memory.batch_size.peak_model import PeakModel
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.diagnose.exits.allocation import requested_bytes
from tensorsleuth.diagnose.exits.process_exit import ProcessExit

USABLE_SHARE = 0.95  # of the limit: what is measured at the end is a moment old


def describe_fitting_batch(process_exit: ProcessExit) -> str | None:
    """Return the batch that would have fit, in words; None if nothing grows with it, or the limit is unknown."""
    account, limit = process_exit.account, process_exit.memory.limit or process_exit.memory.machine
    if limit is None or not len(account.samples):
        return None
    peak_model = PeakModel(account, "anonymous", _pending_bytes(process_exit))
    try:
        peak_model.check()
    except SleuthError:
        return None
    found = FitReport(
        "", 0, peak_model, int(limit * USABLE_SHARE), LIMIT_OF_CGROUP, peak_model.batch, peak_model.sequence
    )
    if found.fits:  # what it ran out of was not of the batch's making
        return None
    if _is_first_step(process_exit):
        known = f"at most batch {found.largest_batch:,}" if found.largest_batch else "not even a batch of 1"
        return f"{known} ({peak_model.batch:,} requested): its first step was not over, and may need more"
    return found.sentence


def _pending_bytes(process_exit: ProcessExit) -> int:
    """Return the bytes that were being allocated, or could not be."""
    failures = process_exit.process.catalogue.failures
    doing = (
        process_exit.running_op.innermost
        if process_exit.running_op is not None and not process_exit.running_op.ended
        else None
    )
    return max(requested_bytes(failures[-1].message) if failures else 0, (doing.bytes or 0) if doing is not None else 0)


def _is_first_step(process_exit: ProcessExit) -> bool:
    calls = process_exit.process.calls
    steps = calls["step"][calls["kind"] == CallKind.ENDED]
    return not bool((steps < max(process_exit.threads.step or 0, 0)).any() and (steps >= 0).any())
