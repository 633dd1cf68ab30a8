"""break_when: every kind of condition, of tensor and of consequence, where it holds and where it does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.breakable import X, at_line, grow, hits_of, line, logarithm, nothing, only, train_anew, weights
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.core.errors import BreakError
from tensorsleuth.live.breakpoints.hit import Hit

pytestmark = pytest.mark.filterwarnings("ignore:non-integer arguments to randrange:DeprecationWarning")


@pytest.mark.parametrize(
    ("condition", "on"),
    [
        ("neg_inf > 0", "op:Log"),
        ("bad", "op:Log"),
        ("inf == 1 and nan == 0", "op:Log"),
        ("min < -1e30", "op:Log"),
        ("abs_max > 1e4", "op:Log"),
        ("max == 0", "op:Log"),
        ("zero == 1", "op:Log"),
        ("norm > 100", "op:Log"),
        ("dtype == 'float32' and bad", "op:Log"),
        ("rank == 1 and shape[0] == 2", "op:Log"),
        ("size == 2", "op:Log"),
        ("shape == (2,)", "name:Log"),
        (lambda op, value: op.type == "Log" and np.isinf(value).any(), None),
        (lambda op, value: value.shape == (2,), "op:Log"),
    ],
)
@pytest.mark.parametrize("call", [logarithm, tf.math.log], ids=["function", "eager"])
def test_conditions(call: Any, condition: Any, on: str | None) -> None:
    healthy, bad = tf.constant([2.0, 3.0, 4.0]), tf.constant([0.0, 1.0])
    assert hits_of(lambda: call(healthy), condition, on=on) == []
    hit = only(hits_of(lambda: call(bad), condition, on=on))
    assert (hit.op.type, hit.op.tensor, hit.dtype, hit.shape) == ("Log", "Log:0", "float32", (2,))
    assert hit.seen["neg_inf"] == 1 and hit.seen["min"] == -np.inf and hit.call is not None
    assert hit.value is not None and hit.value.tolist() == [-np.inf, 0.0]
    if call is logarithm:
        assert at_line(hit) == line("log")


def test_what_is_not_asked_for_is_not_hit() -> None:
    assert hits_of(lambda: logarithm(tf.constant([0.0, 1.0])), "bad", on="op:Exp") == []
    assert hits_of(lambda: tf.math.log([0.0]), "bad", on="somewhere/.*") == []


def test_integers_are_meant_only_when_selected() -> None:
    def labels() -> Any:
        return tf.constant([50_000, 3]) + 1

    assert hits_of(labels, "max > 1e4") == []
    assert only(hits_of(labels, "max > 1e4", on="op:AddV2")).seen["max"] == 50_001
    assert {hit.dtype for hit in hits_of(labels, "size == 2")} >= {"int32"}


def test_iterations_of_a_loop() -> None:
    hits = hits_of(lambda: grow(tf.constant([1.0]), 5), "max >= 8", on="op:Mul")
    assert [hit.iteration for hit in hits] == [2, 3, 4]
    assert {at_line(hit) for hit in hits} == {line("grown")}
    hit = only(hits_of(lambda: grow(tf.constant([1.0]), 5), "iteration == 3", on="op:Mul"))
    assert hit.value is not None and hit.value.tolist() == [16.0]


def test_gradients_of_a_function() -> None:
    hits = hits_of(train_anew, "grad_norm > 100")
    assert [hit.step for hit in hits] == [0]
    assert hits[0].shape == (2, 1) and at_line(hits[0]) == line("forward")
    assert hits[0].seen["norm"] == pytest.approx(np.linalg.norm([1010.0, 2020.0]), rel=1e-4)
    assert len(hits_of(train_anew, "norm > 0", on="gradient:weights")) == 3
    assert len(hits_of(train_anew, "norm > 0", on=tensorsleuth.gradients("predict"))) == 3
    assert hits_of(train_anew, "grad_norm > 0", on="somebody/else") == []


@tf.function
def traced_before(x: Any) -> Any:
    with tf.GradientTape() as tape, tf.name_scope("predict"):
        loss = tf.reduce_sum(tf.matmul(x, weights) ** 2)
    weights.assign_sub(1e-9 * tape.gradient(loss, weights))
    return loss


def test_gradients_of_a_function_that_was_traced_before() -> None:
    weights.assign([[1.0], [2.0]])
    traced_before(X)
    hit = only(hits_of(lambda: traced_before(X), "grad_norm > 100"))
    assert hit.shape == (2, 1) and hit.seen["norm"] == pytest.approx(np.linalg.norm([1010.0, 2020.0]), rel=1e-4)
    assert len(hits_of(lambda: traced_before(X), "grad_norm > 100", on="predict")) == 1


recurrent = tf.Variable([[0.5, 0.1], [0.2, 0.4]], name="recurrent")


@tf.function
def unroll(x: Any, times: Any) -> Any:
    with tf.GradientTape() as tape:
        state = x
        for _ in tf.range(times):
            state = tf.tanh(tf.matmul(state, recurrent))
        loss = tf.reduce_sum(state)
    gradient = tape.gradient(loss, recurrent)
    recurrent.assign_sub(1e-3 * gradient)
    return gradient


def test_the_gradient_that_a_loop_puts_out() -> None:
    gradients: list[Any] = []
    hits = hits_of(lambda: gradients.append(unroll(X / 10.0, 4)), "grad_norm > 0")
    hit = only(hits)
    assert hit.value is not None and np.array_equal(hit.value, gradients[0])
    assert hits_of(lambda: unroll(X / 10.0, 4), "grad_norm > 0", on="recurrent")[0].shape == (2, 2)


def eager_step(variable: tf.Variable) -> None:
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(variable * variable)
    variable.assign_sub(0.25 * tape.gradient(loss, variable))  # eager gradient


def test_gradients_and_variables_of_eager_code() -> None:
    variable = tf.Variable([3.0, 4.0], name="eager/weights")
    hit = only(hits_of(lambda: eager_step(variable), "grad_norm > 9"))
    assert hit.seen["norm"] == pytest.approx(10.0) and hit.op.name == "eager/weights"
    assert (hit.op.type, at_line(hit, __file__)) == ("gradient", marked("eager gradient"))

    def three_steps() -> None:
        for _ in range(3):
            eager_step(variable)

    changes = hits_of(three_steps, "change > 0.4")
    assert [hit.seen["change"] for hit in changes] == [0.5, 0.5]
    assert len(hits_of(lambda: eager_step(variable), "max > 0", on="variable:eager/.*")) == 1


def test_change_of_a_weight() -> None:
    hits = hits_of(lambda: train_anew(4), "change > 0.5")
    assert [(hit.step, hit.op.type) for hit in hits] == [
        (1, "ReadVariableOp"),
        (2, "ReadVariableOp"),
        (3, "ReadVariableOp"),
    ]
    assert hits[0].seen["change"] == pytest.approx(1.01, rel=1e-5)
    assert hits_of(lambda: train_anew(4), "change > 1.5") == []
    assert hits_of(lambda: train_anew(4), "change > 0.5", on="other") == []


def test_the_value_of_a_variable() -> None:
    hits = hits_of(lambda: train_anew(2), "max >= 2", on="variable:weights")
    assert hits and {hit.op.type for hit in hits} == {"ReadVariableOp"} and {hit.step for hit in hits} == {0}


def test_a_dataset() -> None:
    def elements(then: Any = nothing) -> list[Hit]:
        def halves() -> None:
            data = tf.data.Dataset.range(6).map(lambda n: tf.cast(n, tf.float32) / 2.0, num_parallel_calls=2)
            assert [float(one) for one in data] == [0, 0.5, 1, 1.5, 2, 2.5]

        return hits_of(halves, "max > 1.8", on="op:RealDiv", then=then)

    hits = elements()
    assert sorted(hit.seen["max"] for hit in hits) == [2.0, 2.5] and hits[0].call is None
    with pytest.raises(BreakError, match=r"max > 1\.8"):
        elements(then="stop")


def test_nested_functions_and_layers() -> None:
    @tf.function
    def inner(x: Any) -> Any:
        return tf.exp(x) * 3.0

    @tf.function
    def outer(x: Any) -> Any:
        with tf.name_scope("encoder"), tf.name_scope("block"):
            y = inner(x) + 1.0
        return tf.sqrt(y) - 0.5

    def run() -> None:
        outer(tf.constant([1.0, 2.0]))

    assert {hit.op.type for hit in hits_of(run, "size > 0", on="layer:encoder")} >= {"AddV2", "Exp", "Mul"}
    assert {hit.op.type for hit in hits_of(run, "max > 0", on="encoder/.*")} >= {"AddV2", "Exp", "Mul"}
    assert "Sub" not in {hit.op.type for hit in hits_of(run, "max > 0", on="block")}


def test_keras_fit() -> None:
    tf.keras.utils.set_random_seed(1)
    layers = [tf.keras.layers.Dense(4, name="first"), tf.keras.layers.Dense(1, name="second")]
    model = tf.keras.Sequential([tf.keras.Input((3,)), *layers])
    model.compile(tf.keras.optimizers.SGD(1e-4), "mse")
    x, y = np.ones([8, 3], np.float32), np.full([8, 1], 100.0, np.float32)
    hits = hits_of(lambda: model.fit(x, y, batch_size=4, verbose=0), "grad_norm > 1", on="first")
    assert {hit.shape for hit in hits} == {(3, 4), (4,)}
    hits = hits_of(lambda: model.fit(x, y, batch_size=4, epochs=2, verbose=0), "change > 0")
    assert {hit.shape for hit in hits} == {(3, 4), (4,), (4, 1), (1,)}
    with pytest.raises(BreakError) as raised, tensorsleuth.break_when("grad_norm > 0", then="stop"):
        model.fit(x, y, verbose=0)
    assert raised.value.hit.seen["norm"] > 0


def test_compiled_functions_are_said_once(capfd: pytest.CaptureFixture[str]) -> None:
    compiled = tf.function(lambda x: tf.math.log(x), jit_compile=True)
    hits = hits_of(lambda: [compiled(tf.constant([0.0, 1.0])) for _ in range(2)], "bad")
    assert [hit.op.type for hit in hits] == [compiled.get_concrete_function(tf.TensorSpec([2])).name] * 2 or len(
        hits
    ) == 2
    said = [line for line in capfd.readouterr().err.splitlines() if line.startswith("tensorsleuth:")]
    assert len(said) == 1 and "it is compiled by XLA" in said[0]
