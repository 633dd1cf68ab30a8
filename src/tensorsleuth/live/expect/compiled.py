"""Expectations in XLA-compiled code: plain ops judge a tensor and store the result in a variable, which we read later.

XLA cannot compile our kernels, and it drops TensorFlow's assertions. The variable keeps the first violation until the
call has ended. It stores integers only, floats by their bits, so none of our variables ever holds a NaN.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensorsleuth.live.expect import compiled_rules
from tensorsleuth.live.expect.dimension_names import NamedSizes
from tensorsleuth.live.expect.expectation import RULES
from tensorsleuth.live.expect.judge import judge_form
from tensorsleuth.live.expect.report import JudgeReport
from tensorsleuth.recording.harmless import harmless
from tensorsleuth.recording.observer import Alarm
from tensorsleuth.recording.tensorflow import custom_ops, function_calls

Act = Callable[[Any, JudgeReport | None, tuple[int, ...] | None], Alarm]


class ExpectationState:
    """The variable of one expectation in one traced function."""

    def __init__(self, asked: Any, number: int, act: Act) -> None:
        self._asked = asked
        self._act = act
        self._empty = np.zeros(compiled_rules.ROW_SIZE, np.int64)
        self.variable = custom_ops.make_state(self._empty, number)

    def take_alarm(self, names: NamedSizes) -> Alarm:
        """Return the alarm for the latest call, and clear the variable. `names` holds the named sizes of this call."""
        noted = custom_ops.value_of_state(self.variable)
        if not noted[0]:
            return None
        noted = np.array(noted)
        custom_ops.reset_state(self.variable, self._empty)
        shape, asked = _shape(noted), self._asked
        report = judge_form(asked.expected, asked.dtype, shape, names, asked.place)
        if report is None and int(noted[0]) != compiled_rules.SHAPE_ONLY:
            report = _report(noted, shape)
        return self._act(asked, report, shape)


_states: dict[int, ExpectationState] = {}  # by the id of the variable's handle
_of_function: dict[Any, tuple[ExpectationState, ...]] = {}
_lock = threading.Lock()


def insert(tensor: Any, number: int, asked: Any, act: Act, form: bool) -> None:
    """Judge a tensor in a function that XLA compiles or may compile."""
    found = compiled_rules.violation_row(tensor, asked.expected, form)
    if found is None:
        return
    expectation_state = ExpectationState(asked, number, act)
    before = custom_ops.read_state(expectation_state.variable)
    custom_ops.write_state(expectation_state.variable, compiled_rules.earlier_row(before, found))
    with _lock:
        _states[expectation_state.variable.handle._id] = expectation_state
    function_calls.on_end(_on_call_end)


def _on_call_end(name: str, inputs: Sequence[Any]) -> Alarm:
    """Read the expectations of a function that has returned. Act on all violations and return the first alarm."""
    states = _of_function.get(name)
    if states is None:
        states = tuple(_states[one._id] for one in inputs if getattr(one, "_id", None) in _states)
        _of_function[name] = states
    names: NamedSizes = {}
    alarms = [harmless(state.take_alarm, names) for state in states]
    return next((alarm for alarm in alarms if alarm is not None), None)


def _report(noted: Any, shape: tuple[int, ...] | None) -> JudgeReport:
    fields = compiled_rules.unpack_row(noted)
    if (
        RULES[int(fields["rule"]) - 1] == "that"
        and fields["total"] == 1
        and shape is not None
        and math.prod(shape) != 1
    ):
        return JudgeReport("that")  # the function returned one boolean for the whole value
    number = min(int(fields["broken"]), compiled_rules.MAX_POSITIONS)
    return JudgeReport(
        RULES[int(fields["rule"]) - 1],
        int(fields["broken"]),
        int(fields["total"]),
        tuple(int(at) for at in fields["positions"][:number]),
        tuple(float(value) for value in fields["values"][:number]),
        float(fields["low"]),
        float(fields["high"]),
        int(fields["nan"]),
        int(fields["inf"]),
    )


def _shape(noted: Any) -> tuple[int, ...] | None:
    shape = compiled_rules.unpack_row(noted)["shape"]
    rank = int(shape[0])
    return tuple(int(size) for size in shape[1 : rank + 1]) if 0 <= rank <= compiled_rules.MAX_DIMS else None
