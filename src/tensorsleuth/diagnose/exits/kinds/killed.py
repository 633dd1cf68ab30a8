"""Somebody killed the program, and it was not the OOM killer."""

from __future__ import annotations

from tensorsleuth.diagnose.exits.end import End, Told
from tensorsleuth.diagnose.exits.wording import was_doing

FIX = (
    "find who sent it: the time limit of a job scheduler, a watchdog, kill -9, docker stop after its grace period; "
    "nothing in the program can catch it"
)


def match(end: End) -> Told | None:
    if end.signal != "SIGKILL":
        return None
    counted = end.kernel.get("kills") == 0
    not_memory = (
        "not by the OOM killer: its count did not change" if counted else "the kernel does not record the sender"
    )
    sentence = f"Killed by SIGKILL from outside ({not_memory}). {was_doing(end)}."
    return Told("killed", 0.7 if counted else 0.5, sentence, FIX)
