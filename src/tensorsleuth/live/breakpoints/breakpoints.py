"""The break points of this process: selects their tensors, and runs their actions."""

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
from tensorsleuth.live.breakpoints.actions import ActionRunner, prepare_to_record
from tensorsleuth.live.breakpoints.breakpoint import Breakpoint
from tensorsleuth.live.breakpoints.evaluator import MAX_CONDITIONS, ConditionEvaluator, evaluator_for
from tensorsleuth.live.breakpoints.hit import Hit, known_values
from tensorsleuth.live.breakpoints.op_names import TensorNames
from tensorsleuth.live.breakpoints.selection import BreakSelection
from tensorsleuth.live.breakpoints.tensor_in_memory import TensorInMemory
from tensorsleuth.recording.call_sites import caller_line
from tensorsleuth.recording.eager import tape_gradients
from tensorsleuth.recording.functions.probes import Selection
from tensorsleuth.recording.harmless import complain, harmless
from tensorsleuth.recording.observer import Alarm, FunctionCall, Observer
from tensorsleuth.recording.recorder import Recorder
from tensorsleuth.recording.structure.selector import TensorRole
from tensorsleuth.recording.structure.tensor_roles import TensorRoles, TracedGradients
from tensorsleuth.recording.tensorflow import internals as tf

_STOPPED_MESSAGE = re.compile(r"tensorsleuth: stopped by hit (\d+) of break_when")
ONE_SHOT = MAX_CONDITIONS - 1  # the number reserved for the command `until`
MAX_PENDING_ALARMS = 64


class Breakpoints(Observer):
    """Observes the active recording, the guard's recording, or a recording of its own."""

    needs_recorder = True
    order = 1

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._all: dict[int, Breakpoint] = {}  # by number
        self._traced = TracedGradients()
        self.subjects = TensorRoles(self._traced, lambda uid: None)
        self.recorder: Recorder | None = None
        self._evaluator: ConditionEvaluator | None = None
        self._names: TensorNames | None = None
        self._datasets: list[range] = []
        self._alarms: dict[int, BaseException] = {}
        self._alarm_numbers = itertools.count(1)
        self._here = threading.local()
        self.acting = ActionRunner(self)

    # ---- adding and removing

    def add(self, point: Breakpoint) -> None:
        """Add a break point. It takes effect as soon as a recorder exists."""
        with self._lock:
            point.number = self._free_number()
            self._all[point.number] = point
            if self.recorder is not None:
                self._set(point)
                self.recorder.select()

    def _free_number(self) -> int:
        """Return an unused number. Reuse a number only after the evaluator has forgotten the tensors of the old one."""
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
        """Remove a break point. Return True if it was the last."""
        with self._lock:
            if self._all.pop(point.number, None) is not None and self._evaluator is not None:
                self._evaluator.activate(point.number, False)
            if not self._set_by_users():
                self._all.clear()
                self.detach()
            return not self._all

    def _set_by_users(self) -> list[Breakpoint]:
        return [point for number, point in self._all.items() if number != ONE_SHOT]

    def until(self, point: Breakpoint | None) -> None:
        """Pause again when this condition holds for any tensor; None cancels it."""
        with self._lock:
            if point is None:
                self._all.pop(ONE_SHOT, None)
            else:
                point.number = ONE_SHOT
                self._all[ONE_SHOT] = point
                self._set(point, everywhere=True)

    # ---- attaching to recorders

    def detach(self) -> None:
        """Stop observing the current recorder."""
        with self._lock:
            recorder, self.recorder = self.recorder, None
            if recorder is None:
                return
            if self._evaluator is not None:
                self._evaluator.set_on_hit(None)
                self._evaluator.forget()
            recorder.detach(self)

    def attach(self, recorder: Recorder) -> None:
        """Observe this recorder."""
        with self._lock:
            if self.recorder is None and self._all:
                self._join(recorder)

    def _join(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._names = TensorNames(recorder.folder)
        self.subjects = TensorRoles(self._traced, recorder.variables.path_of)
        self._datasets = []
        self._evaluator = evaluator_for(recorder.sink)
        self._evaluator.set_on_hit(self._on_hit)
        for point in self._all.values():
            self._set(point, everywhere=point.number == ONE_SHOT)
        recorder.attach(self)
        if any(point.action == "record" for point in self._all.values()) and isinstance(recorder.folder, Path):
            harmless(prepare_to_record, recorder)
        self.acting.joined(recorder)

    def selection(self, base: Selection) -> Selection:
        return BreakSelection(self.recorder.settings, base, self) if self.recorder is not None else base

    def keeps_steps(self) -> bool:
        return any(point.action == "save" for point in list(self._all.values()))

    def _set(self, point: Breakpoint, everywhere: bool = False) -> None:
        if self._evaluator is not None:
            self._evaluator.set_condition(point.number, point.condition, point.floats_only)
            self._evaluator.activate(point.number, point.hits_left > 0, everywhere)

    def abandon(self) -> None:
        """Drop everything in a forked child: the memory belongs to the parent, and its threads do not exist here."""
        self._lock = threading.RLock()
        self.acting = ActionRunner(self)
        self._all.clear()
        self.recorder = self._evaluator = None

    # ---- selecting tensors

    def asked(self, tensor_role: TensorRole, dtype: int) -> tuple[int, Mode]:
        """Return the conditions on a tensor as bits, and the mode that they need."""
        asking = [
            point
            for point in list(self._all.values())
            if point.number != ONE_SHOT and point.is_about(tensor_role, dtype)
        ]
        conditions = sum(1 << point.number for point in asking)
        return conditions, max((point.condition.needs for point in asking), default=Mode.NO_TENSOR)

    def of_dataset(self, tensors: range) -> None:
        """Note that a dataset computes these tensors, so they belong to no call."""
        self._datasets.append(tensors)

    def put(self, tensor: int, conditions: int) -> None:
        if self._evaluator is not None:
            self._evaluator.set_conditions(tensor, conditions)

    def look_at_eager(self, op: str, dtype: int) -> Mode | None:
        conditions, need = self.asked(TensorRole(op, op), dtype)
        return need if conditions else None

    def placed_eager(self, op: str, first: int, outputs: int) -> None:
        tensor_role = TensorRole(op, op)
        asking = [point for point in list(self._all.values()) if any(one.wants(tensor_role) for one in point.selectors)]
        conditions = sum(1 << point.number for point in asking if point.number != ONE_SHOT)
        for tensor in range(first, first + outputs if conditions else first):
            self.put(tensor, conditions)

    def refused(self, function: str, why: str) -> None:
        complain(f"break points cannot see inside {function} ({why}); its inputs and outputs are still checked.")

    def on_gradients(self, sources: Any, gradients: Any) -> Alarm:
        """Name gradients while a function is traced; judge them in eager code."""
        for source, gradient in tape_gradients.gradient_pairs(sources, gradients):
            name = tape_gradients.source_name(source)
            if isinstance(gradient, tf.EagerTensor):
                self._judge(TensorRole(name, "gradient", gradient_of=(name,)), gradient)
                value = tape_gradients.value_of(source)
                if value is not None:
                    self._judge(TensorRole(name, "variable", variable=name), value)
            elif hasattr(gradient, "graph"):
                self._traced.add(gradient, name)
        return self.alarm_here() if tf.executing_eagerly() else None

    def _judge(self, tensor_role: TensorRole, tensor: Any) -> None:
        kinds = (tensor_role.type,)
        asking = [
            point
            for point in list(self._all.values())
            if point.number != ONE_SHOT
            and point.is_about(tensor_role, tensor._datatype_enum())
            and any(selector.kind in kinds for selector in point.selectors)
        ]
        if asking and self._evaluator is not None and self._names is not None:
            number = self._names.own_id(tensor_role.name, tensor_role.type, *caller_line())
            self._evaluator.judge(sum(1 << point.number for point in asking), tensor, number)

    # ---- hits

    def _on_hit(self, number: int, tensor_in_memory: TensorInMemory) -> int:
        """Handle a hit on the thread that computed the tensor. No exception may leave this function."""
        try:
            return self._act(number, tensor_in_memory)
        except KeyboardInterrupt as interrupt:
            return self._alarm(interrupt)
        except Exception as error:
            complain(f"a break point did not work ({type(error).__name__}: {error}); the program goes on.")
            if os.environ.get("SLEUTH_DEBUG"):
                import traceback

                traceback.print_exc()
            return 0

    def _act(self, number: int, tensor_in_memory: TensorInMemory) -> int:
        point, recorder, names, bench = self._all.get(number), self.recorder, self._names, self._evaluator
        if point is None or recorder is None or names is None or bench is None or point.hits_left <= 0:
            return 0
        op = names.op_of(tensor_in_memory.tensor, recorder.steps.number)
        value = tensor_in_memory.read() if point.predicate is not None or point.action != "record" else None
        if not point.predicate_holds(op, value) or not point.count():
            return 0
        if point.hits_left <= 0:
            bench.activate(number, False)
        seen = known_values(tensor_in_memory, point.condition.needs, value)
        iteration = tensor_in_memory.iteration if tensor_in_memory.kind is EventKind.GRAPH else None
        call = (
            bench.call_of(tensor_in_memory)
            if not any(tensor_in_memory.tensor in ids for ids in self._datasets)
            else None
        )
        hit = Hit(point.text, op, call, iteration, tensor_in_memory.dtype_name, tensor_in_memory.shape, seen, value)
        point.keep(hit)
        alarm = self.acting.act(point, hit, tensor_in_memory)
        return self._alarm(alarm) if alarm is not None else 0

    def closely(self, steps: int) -> None:
        """Record all tensors in full for the rest of this step and for `steps` more steps."""
        if self._evaluator is not None and self.recorder is not None:
            self._evaluator.record_fully_until(self.recorder.steps.number + steps)

    # ---- errors to raise

    def _alarm(self, error: BaseException) -> int:
        number = next(self._alarm_numbers)
        self._alarms[number] = error
        while len(self._alarms) > MAX_PENDING_ALARMS:
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
        """Return our error if this message says that one of our probes stopped the program, else None."""
        found = _STOPPED_MESSAGE.search(message)
        return self._alarms.pop(int(found[1]), None) if found else None

    def alarm_here(self) -> Alarm:
        """Return the error to raise for the latest tensor that this thread judged."""
        if self._evaluator is not None:
            self._evaluator.take_stop()
        number, self._here.number = getattr(self._here, "number", 0), 0
        return self._alarms.pop(number, None)
