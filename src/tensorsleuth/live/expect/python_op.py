"""Judges a tensor of a graph in Python: strings, and everything where the native library cannot be loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tensorsleuth.recording.tensorflow import custom_ops
from tensorsleuth.recording.tensorflow import internals as tf

JudgeValue = Callable[[Any], int]  # of the value; not 0: the number of what to raise


def insert(tensor: Any, judge_value: JudgeValue, name: str) -> Any:
    """The tensor to use in the place of the judged one: it is there once it has been judged."""

    def look(array: Any) -> Any:
        number = judge_value(array)
        if number:
            raise ValueError(f"tensorsleuth: violation {number} of an expectation")
        return np.int64(0)

    done = tf.numpy_function(look, [tensor], name)
    custom_ops.run_independently(done.op)
    return tf.after_op(done, tensor)
