"""The current training step.

Each call of a function that trains is a step. Everything until the next forward pass still belongs to it, such as
metrics, or an optimizer outside the function. `with tensorsleuth.step(n)` overrides this.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tensorsleuth.recording.harmless import harmless
from tensorsleuth.recording.observer import Observers


class StepCounter:
    """Counts steps from 0 and tells each new number to `announce`."""

    def __init__(self, announce: Callable[[int], None], observers: Observers) -> None:
        self._announce = announce
        self._observers = observers
        self._lock = threading.Lock()
        self._number = 0
        self._trained = False  # the gradients of this step have been computed
        self._open_blocks = 0  # the number of open `with step(n)` blocks
        self._last_trained = -1
        self.planned: tuple[int, int] | None = None  # the last step of the running fit, and the number of its steps
        announce(0)

    @property
    def number(self) -> int:
        """Return the current step."""
        return self._number

    @property
    def count(self) -> int:
        """Return the number of training steps so far."""
        return self._last_trained + 1

    def plan(self, left: int, whole: int) -> None:
        """Note that the running fit has `left` of its `whole` steps left."""
        self.planned = self.count + left - 1, whole

    def go_to(self, number: int) -> None:
        """Give a saved step that runs again its original number."""
        with self._lock:
            self._move(number)
            self._last_trained = max(self._last_trained, number)

    def function_called(self, kind: str) -> None:
        """Begin the next step, or mark this one as trained, by the kind of a function that is about to run."""
        with self._lock:
            if kind in ("train", "plain") and self._trained:
                self._next()
            if kind in ("train", "backward"):
                self._trained = True
                self._last_trained = max(self._last_trained, self._number)

    def note_unrecorded_step(self) -> None:
        """Count a step that trained while the recording was paused."""
        self.function_called("train")

    def found_no_data(self) -> None:
        """Undo a step that reached the end of its data instead of training."""
        with self._lock:
            if self._trained and self._last_trained == self._number and not self._open_blocks:
                self._last_trained -= 1
                self._trained = False

    def forward_pass(self) -> None:
        """Begin the next step if this one has trained, because a tape starts to record."""
        with self._lock:
            if self._trained:
                self._next()

    def gradients_computed(self) -> None:
        """Mark the current step as trained, because a tape has computed gradients."""
        with self._lock:
            self._trained = True
            self._last_trained = max(self._last_trained, self._number)

    @contextmanager
    def user_step(self, number: int) -> Iterator[None]:
        """Use the user's number for this block."""
        with self._lock:
            before = self._number
            self._open_blocks += 1
            self._move(number)
            self._last_trained = max(self._last_trained, number)
        try:
            yield
        finally:
            with self._lock:
                self._open_blocks -= 1
                self._move(before if self._open_blocks else number + 1)
                self._trained = False

    def _next(self) -> None:
        if not self._open_blocks:
            self._move(self._number + 1)
            self._trained = False

    def _move(self, number: int) -> None:
        for told in self._observers.on_step if number != self._number else ():
            harmless(told, self._number if self._last_trained >= self._number else -1, number)
        self._number = number
        self._announce(number)
