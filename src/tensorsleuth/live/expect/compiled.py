"""Expectations in what XLA compiles: judged by plain ops, noted in a variable of ours, looked at when the call is over.

XLA can compile no kernel of ours and drops TensorFlow's assertions. What is noted is the first violation since the
variable was last empty, as integers (also the floats, by their bits: no NaN of ours is in any variable).
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
        """Return the notes since the last call, and clear them. `names` are those of dimensions in this call."""
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


_states: dict[int, ExpectationState] = {}  # by the number of the handle
_of_function: dict[Any, tuple[ExpectationState, ...]] = {}
_lock = threading.Lock()


def insert(tensor: Any, number: int, asked: Any, act: Act, form: bool) -> None:
    """Have a tensor judged in a function that XLA compiles, or may compile."""
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
    """A function has come back: look at what its expectations noted. The first is raised, all are acted on."""
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
        return JudgeReport("that")  # it spoke for all of the value
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
