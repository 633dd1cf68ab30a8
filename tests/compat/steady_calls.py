"""Counts our Python calls in a step of a watched program: `python -m tests.compat.steady_calls MODE COUNT…`.

A process of its own, since a program that uses `expect` or `log` pays for that in every later call.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorflow as tf

import tensorsleuth

PACKAGE = str(Path(tensorsleuth.__file__).parent)


def python_calls(action: Callable[[], Any]) -> Counter[str]:
    """Return which of our Python functions an action calls, and how often."""
    count: Counter[str] = Counter()

    def saw(frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE):
            count[f"{code.co_filename.removeprefix(PACKAGE)}:{code.co_name}"] += 1

    sys.setprofile(saw)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


def with_variables(count: int) -> Callable[[], Any]:
    """Return a training step of that many variables."""
    variables = [tf.Variable(float(number + 1)) for number in range(count)]

    def step() -> Any:
        for variable in variables:
            variable.assign_sub(0.5 * variable)
        return tf.add_n([variable.read_value() for variable in variables])

    function: Callable[[], Any] = tf.function(step, autograph=False)
    return function


def steady_calls(count: int) -> Counter[str]:
    step = with_variables(count)
    for _ in range(12):  # the first calls prepare the copy, and FLIGHT reads all variables after each
        step()
    return min((python_calls(step) for _ in range(3)), key=Counter.total)


def main(mode: str, *counts: str) -> None:
    found = []
    for count in counts:
        with tempfile.TemporaryDirectory() as folder, tensorsleuth.record(folder, mode=mode, inside_every=0):
            found.append(steady_calls(int(count)))
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
