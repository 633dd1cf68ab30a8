"""The messages that the program had logged when it went wrong: context that its author chose."""

from __future__ import annotations

from dataclasses import replace

from tensorsleuth.core.finding import Finding
from tensorsleuth.core.series import LogMessage
from tensorsleuth.diagnose.finding_time import call_end_time
from tensorsleuth.trace.process.process import ProcessTrace

MAX_MESSAGES = 3


def add_log_messages(process: ProcessTrace, found: list[Finding]) -> list[Finding]:
    """Return each finding with the last messages before its call ended."""
    if not process.catalogue.logs:
        return found
    return [
        replace(one, logged=last_messages(process, call_end_time(process, one), one.step)) if not one.logged else one
        for one in found
    ]


def last_messages(process: ProcessTrace, end: int | None, step: int | None) -> tuple[LogMessage, ...]:
    """Return the last messages before a time, or if that is unknown, before the end of a step."""
    return tuple([one for one in process.catalogue.logs if _was_before(one, end, step)][-MAX_MESSAGES:])


def _was_before(message: LogMessage, end: int | None, step: int | None) -> bool:
    if end is not None and message.clock is not None:
        return message.clock <= end
    return step is None or step < 0 or message.step <= step
