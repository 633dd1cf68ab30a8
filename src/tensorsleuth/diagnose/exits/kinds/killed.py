"""A program that was killed, but not by the OOM killer."""

from __future__ import annotations

from tensorsleuth.diagnose.exits.process_exit import ExitExplanation, ProcessExit
from tensorsleuth.diagnose.exits.wording import describe_activity

FIX = (
    "find who sent it: the time limit of a job scheduler, a watchdog, kill -9, docker stop after its grace period; "
    "nothing in the program can catch it"
)


def match(process_exit: ProcessExit) -> ExitExplanation | None:
    if process_exit.signal != "SIGKILL":
        return None
    counted = process_exit.kernel_counters.get("kills") == 0
    not_memory = (
        "not by the OOM killer: its count did not change" if counted else "the kernel does not record the sender"
    )
    sentence = f"Killed by SIGKILL from outside ({not_memory}). {describe_activity(process_exit)}."
    return ExitExplanation("killed", 0.7 if counted else 0.5, sentence, FIX)
