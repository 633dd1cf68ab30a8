"""What tests of the guard share: a guard on duty, what it must raise, a function that it must not mind."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tensorflow as tf

import tensorsleuth
from tensorsleuth.core.errors import NumericsError

X = tf.constant([0.0, 1.0, 2.0])


@pytest.fixture
def guard() -> Iterator[Any]:
    with tensorsleuth.guard() as on_duty:
        yield on_duty


@pytest.fixture
def strict() -> Iterator[Any]:
    with tensorsleuth.guard(strict=True) as on_duty:
        yield on_duty


def alarm(action: Callable[[], Any], line: int, got_to: str) -> NumericsError:
    """Runs what must raise, with a line of the calling test's file as its first finding."""
    here = os.path.basename(sys._getframe(1).f_code.co_filename)
    with pytest.raises(NumericsError) as raised:
        action()
    error = raised.value
    assert error.findings and (os.path.basename(str(error.findings[0].file)), error.findings[0].line) == (here, line)
    text = str(error)
    assert f"{here}:{line}" in text.splitlines()[0]
    assert "▶" in text and got_to in text.splitlines()[-1], text
    assert isinstance(error, tf.errors.InvalidArgumentError) and isinstance(error, ArithmeticError)
    return error


def fused_batch_norm(x: Any) -> Any:
    return tf.compat.v1.nn.fused_batch_norm(x, tf.ones([3]), tf.zeros([3]), is_training=True)[0]
