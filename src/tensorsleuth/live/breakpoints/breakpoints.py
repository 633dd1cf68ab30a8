"""The break points of this process: put where tensors are computed, and acted on where one holds."""

from __future__ import annotations

import itertools
import os
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.layout.rows import EventKind
from tensorsleuth.core.modes import Mode
from tensorsleuth.live.breakpoints.actions import Acting, ready_to_record
from tensorsleuth.live.breakpoints.breakpoint import Breakpoint
from tensorsleuth.live.breakpoints.evaluator import MOST, Bench, bench_of
from tensorsleuth.live.breakpoints.hit import Hit, seen_of
from tensorsleuth.live.breakpoints.op_names import Names
from tensorsleuth.live.breakpoints.selection import BreakSelection
from tensorsleuth.live.breakpoints.tensor_in_memory import Sight
from tensorsleuth.recording.call_sites import caller_line
from tensorsleuth.recording.eager import tape_gradients
from tensorsleuth.recording.functions.probes import Selection
from tensorsleuth.recording.harmless import complain, harmless
from tensorsleuth.recording.observer import Alarm, FunctionCall, Observer
from tensorsleuth.recording.recorder import Recorder
from tensorsleuth.recording.structure.selector import Subject
from tensorsleuth.recording.structure.tensor_roles import Subjects, TracedGradients
from tensorsleuth.recording.tensorflow import internals as tf

_STOPPED = re.compile(r"tensorsleuth: stopped by hit (\d+) of break_when")
ONE_SHOT = MOST - 1  # the number of "go on until"
MOST_ALARMS = 64


class Breakpoints(Observer):
    """Watches along with the recording that is under way, with the guard, or by itself."""

    needs_recorder = True
    order = 1

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._all: dict[int, Breakpoint] = {}  # by number
        self._traced = TracedGradients()
        self.subjects = Subjects(self._traced, lambda uid: None)
        self.recorder: Recorder | None = None
        self._bench: Bench | None = None
        self._names: Names | None = None
        self._datasets: list[range] = []
        self._alarms: dict[int, BaseException] = {}
        self._alarm_numbers = itertools.count(1)
        self._here = threading.local()
        self.acting = Acting(self)

    # ---- which there are

    def add(self, point: Breakpoint) -> None:
        """Watch for one more, from when there is a recorder."""
        with self._lock:
            point.number = self._free_number()
            self._all[point.number] = point
            if self.recorder is not None:
                self._set(point)
                self.recorder.select()

    def _free_number(self) -> int:
        """None is used again before the tensors' sets are forgotten."""
        points = self._set_by_users()
        used = max((point.number for point in points), default=-1) + 1
        if used < ONE_SHOT:
            return used
        if len(points) >= ONE_SHOT:
            raise SleuthError(f"{len(points)} break points are set already: remove some first.")
        recorder = self.recorder
        self.detach()
        self._all = dict(enumerate(points))
        for number, point in self._all.items():
            point.number = number
        if recorder is not None:
            self.attach(recorder)
        return len(self._all)

    def remove(self, point: Breakpoint) -> bool:
        """Take one away; True where it was the last."""
        with self._lock:
            if self._all.pop(point.number, None) is not None and self._bench is not None:
                self._bench.activate(point.number, False)
            if not self._set_by_users():
                self._all.clear()
                self.detach()
            return not self._all

    def _set_by_users(self) -> list[Breakpoint]:
        return [point for number, point in self._all.items() if number != ONE_SHOT]

    def until(self, point: Breakpoint | None) -> None:
        """Pause again where this holds, whatever the tensor; None: nowhere."""
        with self._lock:
            if point is None:
                self._all.pop(ONE_SHOT, None)
            else:
                point.number = ONE_SHOT
                self._all[ONE_SHOT] = point
                self._set(point, everywhere=True)

    # ---- where they watch

    def detach(self) -> None:
        """Stop watching through this recorder."""
        with self._lock:
            recorder, self.recorder = self.recorder, None
            if recorder is None:
                return
            if self._bench is not None:
                self._bench.tell(None)
                self._bench.forget()
            recorder.detach(self)

    def attach(self, recorder: Recorder) -> None:
        """Watch through this recorder."""
        with self._lock:
            if self.recorder is None and self._all:
                self._join(recorder)

    def _join(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._names = Names(recorder.folder)
        self.subjects = Subjects(self._traced, recorder.variables.path_of)
        self._datasets = []
        self._bench = bench_of(recorder.sink)
        self._bench.tell(self._saw)
        for point in self._all.values():
            self._set(point, everywhere=point.number == ONE_SHOT)
        recorder.attach(self)
        if any(point.action == "record" for point in self._all.values()) and isinstance(recorder.folder, Path):
            harmless(ready_to_record, recorder)
        self.acting.joined(recorder)

    def selection(self, base: Selection) -> Selection:
        return BreakSelection(self.recorder.settings, base, self) if self.recorder is not None else base

    def keeps_steps(self) -> bool:
        return any(point.action == "save" for point in list(self._all.values()))

    def _set(self, point: Breakpoint, everywhere: bool = False) -> None:
        if self._bench is not None:
            self._bench.set(point.number, point.condition, point.floats_only)
            self._bench.activate(point.number, point.left > 0, everywhere)

    def abandon(self) -> None:
        """In a forked child: the memory is the parent's, and its threads are not here."""
        self._lock = threading.RLock()
        self.acting = Acting(self)
        self._all.clear()
        self.recorder = self._bench = None

    # ---- which tensors they are about

    def asked(self, subject: Subject, dtype: int) -> tuple[int, Mode]:
        """The conditions on a tensor, as bits, and how closely they need it looked at."""
        asking = [
            point for point in list(self._all.values()) if point.number != ONE_SHOT and point.asks(subject, dtype)
        ]
        conditions = sum(1 << point.number for point in asking)
        return conditions, max((point.condition.needs for point in asking), default=Mode.NO_TENSOR)

    def of_dataset(self, tensors: range) -> None:
        """These are computed by a dataset, for no call."""
        self._datasets.append(tensors)

    def put(self, tensor: int, conditions: int) -> None:
        if self._bench is not None:
            self._bench.put(tensor, conditions)

    def look_at_eager(self, op: str, dtype: int) -> Mode | None:
        conditions, need = self.asked(Subject(op, op), dtype)
        return need if conditions else None

    def placed_eager(self, op: str, first: int, outputs: int) -> None:
        subject = Subject(op, op)
        asking = [point for point in list(self._all.values()) if any(one.wants(subject) for one in point.selectors)]
        conditions = sum(1 << point.number for point in asking if point.number != ONE_SHOT)
        for tensor in range(first, first + outputs if conditions else first):
            self.put(tensor, conditions)

    def refused(self, function: str, why: str) -> None:
        complain(f"break points cannot see inside {function} ({why}); its inputs and outputs are still checked.")

    def on_gradients(self, sources: Any, gradients: Any) -> Alarm:
        """A tape has given gradients: named where a function is traced, judged where code is eager."""
        for source, gradient in tape_gradients.pairs(sources, gradients):
            name = tape_gradients.name_of(source)
            if isinstance(gradient, tf.EagerTensor):
                self._judge(Subject(name, "gradient", gradient_of=(name,)), gradient)
                value = tape_gradients.value_of(source)
                if value is not None:
                    self._judge(Subject(name, "variable", variable=name), value)
            elif hasattr(gradient, "graph"):
                self._traced.add(gradient, name)
        return self.alarm_here() if tf.executing_eagerly() else None

    def _judge(self, subject: Subject, tensor: Any) -> None:
        kinds = (subject.type,)
        asking = [
            point
            for point in list(self._all.values())
            if point.number != ONE_SHOT
            and point.asks(subject, tensor._datatype_enum())
            and any(selector.kind in kinds for selector in point.selectors)
        ]
        if asking and self._bench is not None and self._names is not None:
            number = self._names.own(subject.name, subject.type, *caller_line())
            self._bench.judge(sum(1 << point.number for point in asking), tensor, number)

    # ---- where one holds

    def _saw(self, number: int, sight: Sight) -> int:
        """A condition holds, on the thread that computes. Nothing may be raised from here."""
        try:
            return self._act(number, sight)
        except KeyboardInterrupt as interrupt:
            return self._alarm(interrupt)
        except Exception as error:
            complain(f"a break point did not work ({type(error).__name__}: {error}); the program goes on.")
            if os.environ.get("SLEUTH_DEBUG"):
                import traceback

                traceback.print_exc()
            return 0

    def _act(self, number: int, sight: Sight) -> int:
        point, recorder, names, bench = self._all.get(number), self.recorder, self._names, self._bench
        if point is None or recorder is None or names is None or bench is None or point.left <= 0:
            return 0
        op = names.of(sight.tensor, recorder.steps.number)
        value = sight.read() if point.predicate is not None or point.action != "record" else None
        if not point.takes(op, value) or not point.count():
            return 0
        if point.left <= 0:
            bench.activate(number, False)
        seen = seen_of(sight, point.condition.needs, value)
        iteration = sight.iteration if sight.kind is EventKind.GRAPH else None
        call = bench.call_of(sight) if not any(sight.tensor in ids for ids in self._datasets) else None
        hit = Hit(point.text, op, call, iteration, sight.dtype_name, sight.shape, seen, value)
        point.keep(hit)
        alarm = self.acting.act(point, hit, sight)
        return self._alarm(alarm) if alarm is not None else 0

    def closely(self, steps: int) -> None:
        """Look at everything in full for the rest of this step and so many more."""
        if self._bench is not None and self.recorder is not None:
            self._bench.closely(self.recorder.steps.number + steps)

    # ---- what is raised

    def _alarm(self, error: BaseException) -> int:
        number = next(self._alarm_numbers)
        self._alarms[number] = error
        while len(self._alarms) > MOST_ALARMS:
            self._alarms.pop(next(iter(self._alarms)))
        self._here.number = number
        return number

    def on_call_end(self, call: FunctionCall, outputs: Sequence[Any], seen: bool) -> Alarm:
        return self.alarm_here()

    def on_bad_op(self, op: str, inputs: Sequence[Any], call: int, outputs: Sequence[Any]) -> Alarm:
        return self.alarm_here()

    def on_call_failed(self, call: FunctionCall, error: BaseException) -> Alarm:
        return self.alarm_in(str(error))

    def on_op_failed(self, op: str, error: BaseException) -> Alarm:
        return self.alarm_in(str(error))

    def alarm_in(self, message: str) -> Alarm:
        """Return the error to raise for one with which a probe stopped the program, or None for any other error."""
        found = _STOPPED.search(message)
        return self._alarms.pop(int(found[1]), None) if found else None

    def alarm_here(self) -> Alarm:
        """Return the error to raise for a tensor that this thread has just looked at."""
        if self._bench is not None:
            self._bench.take_stop()
        number, self._here.number = getattr(self._here, "number", 0), 0
        return self._alarms.pop(number, None)
