"""The exit status of a program."""

from __future__ import annotations

import signal
from dataclasses import dataclass


@dataclass(frozen=True)
class ExitStatus:
    """The end of a process: its exit code, or minus the number of the signal that killed it."""

    status: int
    seconds: float
    peak: int = 0  # the most resident memory, in bytes

    @property
    def exit_code(self) -> int | None:
        return self.status if self.status >= 0 else None

    @property
    def signal_name(self) -> str | None:
        if self.status >= 0:
            return None
        try:
            return signal.Signals(-self.status).name
        except ValueError:  # real-time signals have no names
            return f"signal {-self.status}"


def signal_words(signal_name: str) -> str:
    """Return how a signal ended a program, as the words that follow the program's name."""
    return "was interrupted (Ctrl-C)" if signal_name == "SIGINT" else f"was killed by {signal_name}"
