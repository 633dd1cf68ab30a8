"""What a step costs while it is recorded: counts that do not depend on the machine, so that a cost cannot come back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorflow as tf

import tensorsleuth
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
PACKAGE = str(Path(tensorsleuth.__file__).parent)
MAX_PYTHON_CALLS = 42  # of our functions, in a call of a watched function


def python_calls(action: Callable[[], Any]) -> int:
    """Return how many calls of our Python functions an action makes."""
    count = 0

    def saw(frame: Any, event: str, _: Any) -> None:
        nonlocal count
        count += event == "call" and frame.f_code.co_filename.startswith(PACKAGE)

    sys.setprofile(saw)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


def with_variables(count: int) -> Callable[[], Any]:
    """Return a training step of that many variables."""
    variables = [tf.Variable(float(number + 1)) for number in range(count)]

    @tf.function(autograph=False)
    def step() -> Any:
        for variable in variables:
            variable.assign_sub(0.5 * variable)
        return tf.add_n([variable.read_value() for variable in variables])

    return step


def steady_calls(count: int) -> int:
    step = with_variables(count)
    for _ in range(12):  # the first calls prepare the copy
        step()
    return min(python_calls(step) for _ in range(3))


def test_a_call_takes_few_python_calls_however_many_variables_it_has(recorded: Recorded) -> None:
    few: list[int] = []
    for count in (2, 40):
        recorded(lambda count=count: few.append(steady_calls(count)), inside_every=0)
    assert few[0] == few[1] <= MAX_PYTHON_CALLS
