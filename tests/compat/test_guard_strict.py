"""The strict guard raises where a bad value is born."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat import guarded
from tests.compat.guarded import X, alarm, fused_batch_norm
from tests.compat.kerases import KERASES, load
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.core.errors import NumericsError, SleuthError

pytestmark = pytest.mark.filterwarnings("ignore:non-integer arguments to randrange:DeprecationWarning")

strict = guarded.strict  # a fixture


@pytest.mark.usefixtures("strict")
def test_strict_raises_at_birth() -> None:
    alarm(
        lambda: tf.math.log(X),  # eager birth
        marked("eager birth"),
        "Log (strict)",
    )


@pytest.mark.usefixtures("strict")
def test_strict_leaves_variables_as_they_were() -> None:
    variable = tf.Variable([1.0, 1.0, 1.0])

    @tf.function
    def step(x: Any) -> Any:
        variable.assign(tf.math.log(x + 0.0) * 2.0)  # strict in a function
        return variable * 1.0

    for _ in range(2):
        alarm(lambda: step(X), marked("strict in a function"), "step (strict)")
    assert variable.numpy().tolist() == [1.0, 1.0, 1.0]
    assert step(tf.ones([3])).numpy().tolist() == [0.0, 0.0, 0.0]


@pytest.mark.usefixtures("strict")
def test_strict_is_not_about_statistics_of_nothing() -> None:
    fused_batch_norm(tf.zeros([0, 2, 2, 3]))
    tf.function(fused_batch_norm)(tf.zeros([0, 2, 2, 3]))


@pytest.mark.parametrize("name", KERASES)
def test_keras_leaves_it_as_it_is(name: str, strict: Any) -> None:
    class Logarithm(load(name).layers.Layer):  # type: ignore[misc]
        def call(self, x: Any) -> Any:
            return tf.math.log(x)  # in a layer

    error = alarm(lambda: Logarithm()(X), marked("in a layer"), "")
    assert "Arguments received" not in str(error)
    there = pickle.loads(pickle.dumps(error))
    assert type(there) is NumericsError and str(there) == str(error) and there.findings == error.findings


def test_tensorflows_own_names() -> None:
    tensorsleuth.enable_check_numerics(stack_height_limit=30, path_length_limit=50)
    tensorsleuth.enable_check_numerics()
    try:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"log\(0\)"):
            tf.math.log(X)
        with pytest.raises(SleuthError, match="strict is True, not False"):
            tensorsleuth.guard()
    finally:
        tensorsleuth.disable_check_numerics()
    tensorsleuth.disable_check_numerics()
    assert np.isinf(tf.math.log(X).numpy()[0])
