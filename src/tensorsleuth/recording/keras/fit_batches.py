"""Records the current epoch and batch of a Keras model's `fit`, `evaluate` or `predict`: a row for each batch."""

from __future__ import annotations

import time
import weakref
from typing import Any

from tensorsleuth.core.fit_position import FitPosition, Phase
from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.recording.backends.sink import Sink

NOT_IN_FIT = FitPosition(Phase.NONE)


class FitProgress:
    """Follows the nested loops of Keras: for example, evaluate within fit, or predict within a callback."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._open: list[
            tuple[weakref.ref[Any], FitPosition]
        ] = []  # for each running loop, its list of callbacks and its position

    def begin_loop(self, callbacks: Any, phase: Phase) -> None:
        """Begin a loop. An evaluate within fit has fit's epoch. A fit that raised before has not reported its end."""
        if phase is Phase.TRAIN:
            self._open.clear()
        around = self._open[-1] if self._open else None
        inside = around is not None and around[0]() is callbacks
        self._open.append((weakref.ref(callbacks), FitPosition(phase, around[1].epoch if around and inside else None)))
        self._note()

    def begin_epoch(self, callbacks: Any, number: int) -> None:
        self._move(callbacks, FitPosition(Phase.TRAIN, number))

    def begin_batch(self, callbacks: Any, phase: Phase, number: int) -> None:
        epoch = self._open[-1][1].epoch if self._open else None
        self._move(callbacks, FitPosition(phase, epoch, number))

    def end_loop(self) -> None:
        """End the latest loop, and the loops that an exception ended without a report."""
        del self._open[-1:]
        while self._open and self._open[-1][0]() is None:
            self._open.pop()
        self._note()

    def _move(self, callbacks: Any, fit_position: FitPosition) -> None:
        self._open[-1:] = [(weakref.ref(callbacks), fit_position)]
        self._note()

    def _note(self) -> None:
        now = self._open[-1][1] if self._open else NOT_IN_FIT
        counted = [0 if number is None else number + 1 for number in (now.epoch, now.batch)]
        self._sink.call(CallKind.BATCH, self._sink.next_call(), int(now.phase), time.monotonic_ns(), 0, counted)
