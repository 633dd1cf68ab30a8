"""break_when: every kind of condition, of tensor and of consequence, where it holds and where it does not."""

from __future__ import annotations

import os
import re
import runpy
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from bench import models
from tests.compat.looking import bits, marked

import tensorsleuth
from tensorsleuth.breaking import api as breaking
from tensorsleuth.breaking.hit import Hit
from tensorsleuth.model.errors import BreakError, NumericsError, SleuthError
from tensorsleuth.model.rows import EventFlag
from tensorsleuth.trace.saved import steps_of

pytestmark = pytest.mark.filterwarnings("ignore:non-integer arguments to randrange:DeprecationWarning")

HERE = os.path.basename(__file__)
X = tf.constant([[1.0, 2.0], [10.0, 20.0]])


def nothing(hit: Hit) -> None:
    """What to do where it only matters that it was hit."""


def hits_of(action: Callable[[], Any], condition: Any, **settings: Any) -> list[Hit]:
    with tensorsleuth.break_when(condition, then=settings.pop("then", nothing), **settings) as point:
        action()
    return point.hits


def only(hits: list[Hit]) -> Hit:
    assert len(hits) == 1, hits
    return hits[0]


def at_line(hit: Hit) -> int | None:
    assert hit.op.file is not None and os.path.basename(hit.op.file) == HERE
    return hit.op.line


weights = tf.Variable([[1.0], [2.0]], name="weights")


@tf.function
def train(x: Any, rate: Any = 0.001) -> Any:
    with tf.GradientTape() as tape:
        with tf.name_scope("predict"):
            y = tf.matmul(x, weights)  # forward
        loss = tf.reduce_sum(y * y)
    weights.assign_sub(rate * tape.gradient(loss, weights))
    return loss


@tf.function
def grow(x: Any, times: Any) -> Any:
    for _ in tf.range(times):
        x = x * 2.0  # grown
    return tf.reduce_sum(x)


@tf.function
def logarithm(x: Any) -> Any:
    logs = tf.math.log(x)  # log
    return tf.reduce_sum(logs * 2.0)


def train_anew(steps: int = 3) -> None:
    weights.assign([[1.0], [2.0]])
    for _ in range(steps):
        train(X)


# ---- conditions, in functions and outside


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
        assert at_line(hit) == marked("log")


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
    assert {at_line(hit) for hit in hits} == {marked("grown")}
    hit = only(hits_of(lambda: grow(tf.constant([1.0]), 5), "iteration == 3", on="op:Mul"))
    assert hit.value is not None and hit.value.tolist() == [16.0]


def test_gradients_of_a_function() -> None:
    hits = hits_of(train_anew, "grad_norm > 100")
    assert [hit.step for hit in hits] == [0]
    assert hits[0].shape == (2, 1) and at_line(hits[0]) == marked("forward")
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
    assert (hit.op.type, at_line(hit)) == ("gradient", marked("eager gradient"))

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


# ---- what is done


@pytest.mark.parametrize("call", [logarithm, tf.math.log], ids=["function", "eager"])
def test_stop(call: Any) -> None:
    for _ in range(2):
        with pytest.raises(BreakError) as raised, tensorsleuth.break_when("neg_inf > 0", then="stop"):
            call(tf.constant([0.0, 1.0]))
        text = str(raised.value)
        assert "neg_inf > 0" in text and HERE in text and "neg_inf 1" in text and "Log:0" in text
        assert raised.value.hit.value.tolist() == [-np.inf, 0.0]
    assert call(tf.constant([1.0, 1.0])) is not None


def test_what_the_function_raises_is_raised_in_the_program() -> None:
    def refuse(hit: Hit) -> None:
        raise LookupError(hit.op.type)

    for call in (logarithm, tf.math.log):
        with pytest.raises(LookupError, match="Log"), tensorsleuth.break_when("bad", on="op:Log", then=refuse):
            call(tf.constant([0.0]))


def test_times() -> None:
    point = tensorsleuth.break_when("size > 0", on="op:Mul", then=nothing, times=2)
    with point:
        grow(tf.constant([1.0]), 5)
    assert len(point.hits) == 2
    point.remove()


def test_several_at_a_time() -> None:
    with (
        tensorsleuth.break_when("max >= 8", on="op:Mul", then=nothing) as large,
        tensorsleuth.break_when("max < 4", on="op:Mul", then=nothing) as small,
    ):
        grow(tf.constant([1.0]), 5)
        with tensorsleuth.break_when("max == 4", on="op:Mul", then=nothing) as exact:
            grow(tf.constant([1.0]), 5)
        grow(tf.constant([1.0]), 1)
    assert (len(large.hits), len(small.hits), len(exact.hits)) == (6, 3, 1)
    assert len(hits_of(lambda: grow(tf.constant([1.0]), 5), "max == 4", on="op:Mul")) == 1


def test_more_than_there_are_numbers_for() -> None:
    for number in range(70):
        assert len(hits_of(lambda: tf.exp([1.0]), f"max > 0 and {number} < 99", on="op:Exp")) == 1
    points = [tensorsleuth.break_when("bad", on="op:Exp", then=nothing) for _ in range(20)]
    for number in range(60):
        assert len(hits_of(lambda: tf.exp([1.0]), f"max > 0 and {number} < 99", on="op:Exp")) == 1
    for point in points:
        point.remove()


def test_record_the_next_steps(tmp_path: Path) -> None:
    weights.assign([[1.0], [2.0]])
    with (
        tensorsleuth.record(tmp_path, mode="CURT_HEALTH") as recording,
        tensorsleuth.break_when("step == 2", on="op:MatMul", then="record:2") as point,
    ):
        for _ in range(8):
            train(X)
    assert len(point.hits) == 1 and recording.path is not None
    trace = tensorsleuth.open(recording.path)
    kept = {event.step for event in trace.tensors(op="MatMul") if event.value is not None}
    assert kept == {2, 3, 4}  # the gradient of step 2 comes after the hit
    flagged = [
        event.step for event in trace.tensors() if event.row is not None and event.row["flags"] & EventFlag.MOMENTS
    ]
    assert set(flagged) == {2, 3, 4}


def test_record_needs_a_recording() -> None:
    with pytest.raises(SleuthError, match=r"tensorsleuth\.record\(\) first"):
        tensorsleuth.break_when("bad", then="record")


def test_save_keeps_the_step_that_was_hit(tmp_path: Path) -> None:
    w = tf.Variable([1.0, 2.0])

    @tf.function
    def step(x: Any) -> Any:
        w.assign_add(x * tf.random.uniform([]))
        return tf.reduce_sum(w * 2.0)

    with tensorsleuth.record(tmp_path) as recording:
        handle = tensorsleuth.break_when("max > 100", on="op:Mul", then="save", times=1)
        for scale in (1.0, 1000.0, 1.0):
            step(tf.constant([scale, scale]))
        handle.remove()
    assert recording.path is not None and handle.hits
    saved = steps_of(recording.path)
    assert len(saved) == 1
    kept = [np.load(file) for file in sorted(saved[0].folder.glob("*.npy"))]
    assert any(np.array_equal(value, [1000.0, 1000.0]) for value in kept)  # the argument of that call


def test_save_is_refused_where_the_step_cannot_be_saved(capfd: pytest.CaptureFixture[str]) -> None:
    hits_of(lambda: tf.math.log([0.0]), "bad", then="save")
    assert "only calls of functions are" in capfd.readouterr().err


def test_a_predicate_that_raises(capfd: pytest.CaptureFixture[str]) -> None:
    def broken(op: Any, value: Any) -> bool:
        raise ZeroDivisionError("mine")

    assert hits_of(lambda: tf.exp([1.0]), broken) == []
    assert "break_when(broken) raised ZeroDivisionError: mine; taken as False" in capfd.readouterr().err


def test_what_a_predicate_sees() -> None:
    seen: list[Any] = []

    def look(op: Any, value: Any) -> bool:
        seen.append((op.name, op.type, op.layer, os.path.basename(op.file), op.line, op.step, value.tolist()))
        return False

    weights.assign([[1.0], [2.0]])
    assert hits_of(lambda: [train(X), train(X)], look, on="predict/MatMul") == []
    seen = [one for one in seen if one[0] == "predict/MatMul"]
    assert seen[0] == ("predict/MatMul", "MatMul", "predict", HERE, marked("forward"), 0, [[5.0], [50.0]])
    assert [one[5] for one in seen] == [0, 1]


def test_a_predicate_on_threads_of_tensorflow_and_of_python() -> None:
    """Each waits for Python's lock; nobody may hold it while it waits for them."""
    many = tf.function(lambda x: tf.add_n([tf.reduce_sum(tf.exp(x + float(n))) for n in range(16)]))

    def slow(op: Any, value: Any) -> bool:
        time.sleep(0.001)
        return True

    with tensorsleuth.break_when(slow, on="op:Exp", then=nothing) as point:
        threads = [threading.Thread(target=lambda: many(tf.ones([4]))) for _ in range(4)]
        data = tf.data.Dataset.range(20).map(lambda n: tf.exp(tf.cast(n, tf.float32)), num_parallel_calls=4).prefetch(4)
        for thread in threads:
            thread.start()
        for _ in range(3):
            iterator = iter(data)
            next(iterator)
            del iterator
        for thread in threads:
            thread.join()
    assert len(point.hits) > 64


# ---- beside others


def test_the_same_bits_where_nothing_holds() -> None:
    name = "cnn" if "cnn" in models.MODELS else next(iter(models.MODELS))
    tf.keras.backend.clear_session()
    bare = models.digest(*models.train(name, 3))
    tf.keras.backend.clear_session()
    with (
        tensorsleuth.break_when("nan > 0 or norm > 1e30", then="stop"),
        tensorsleuth.break_when("grad_norm > 1e30", then="stop"),
        tensorsleuth.break_when("change > 1e30", then="stop"),
        tensorsleuth.break_when(lambda op, value: False, on="op:MatMul", then="stop"),
    ):
        assert models.digest(*models.train(name, 3)) == bare


def test_nothing_is_left_in_tensorflow() -> None:
    before = bits(grow(tf.constant([1.0]), 3))
    with tensorsleuth.break_when("max > 1e30", then="stop"):
        assert bits(grow(tf.constant([1.0]), 3)) == before
    assert bits(grow(tf.constant([1.0]), 3)) == before


def test_with_a_recording(tmp_path: Path) -> None:
    bad = tf.constant([0.0, 1.0])
    with tensorsleuth.break_when("bad", on="op:Log", then=nothing) as point:
        logarithm(bad)
        with tensorsleuth.record(tmp_path) as recording:
            logarithm(bad)
        logarithm(bad)
    assert len(point.hits) == 3
    assert recording.path is not None and len(tensorsleuth.open(recording.path).tensors(op="Log")) == 1
    with tensorsleuth.record(tmp_path, mode="NO_TENSOR") as recording:
        logarithm(bad)
        with tensorsleuth.break_when("bad", on="op:Log", then=nothing) as point:
            logarithm(bad)
        logarithm(bad)
    assert len(point.hits) == 1 and recording.path is not None
    assert [event.bad for event in tensorsleuth.open(recording.path).tensors(op="Log")] == [False, True, False]


def test_with_the_guard() -> None:
    bad = tf.constant([0.0, 1.0])
    with tensorsleuth.break_when("bad", on="op:Log", then=nothing) as point:
        with tensorsleuth.guard(), pytest.raises(NumericsError):
            logarithm(bad)
        logarithm(bad)
    assert len(point.hits) == 2
    with tensorsleuth.guard():
        with tensorsleuth.break_when("max > 0", on="op:Mul", then=nothing) as point:
            grow(tf.constant([1.0]), 2)
        with pytest.raises(NumericsError):
            logarithm(bad)
    assert len(point.hits) == 2


def test_a_strict_guard_is_not_stricter_for_it() -> None:
    masked = tf.function(
        lambda x: tf.reduce_sum(tf.where(x > 0.0, tf.maximum(x, float("-inf")), float("-inf")) * 0.0 + 1.0)
    )
    x = tf.constant([1.0, 2.0])
    with tensorsleuth.guard(strict=True):
        expected = bits(masked(x))
        with tensorsleuth.break_when("max > 1e30", on="op:.*", then=nothing):
            assert bits(masked(x)) == expected


def test_wrong_arguments_are_said() -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"condition": "nann > 0"}, "Did you mean 'nan'"),
        ({"condition": "bad", "on": "lyer:x"}, "Did you mean 'layer'"),
        ({"condition": "bad", "on": "("}, "not a regular expression"),
        ({"condition": "bad", "on": 3}, "it must be a text"),
        ({"condition": "bad", "then": "explode"}, "pause, stop, record, save"),
        ({"condition": "bad", "then": "record:0"}, "record:N"),
        ({"condition": "bad", "times": 0}, "whole number"),
        ({"condition": "grad_norm > 1", "on": "op:MatMul"}, "norm of gradients"),
        ({"condition": 3}, "no condition"),
    ]
    for arguments, says in wrong:
        with pytest.raises(SleuthError, match=says):
            tensorsleuth.break_when(**arguments)
    assert breaking._breaks is None or not breaking._breaks._all


def test_the_examples_of_the_documentation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    text = (Path(__file__).parents[2] / "docs" / "breakpoints.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(blocks) == 3
    program = tmp_path / "example.py"
    program.write_text("\n".join(blocks))
    monkeypatch.setenv("SLEUTH_PAUSE_TIMEOUT", "0.2")
    runpy.run_path(str(program))
    said = capfd.readouterr()
    assert said.err.count("paused:") == 1 and "grad_norm > 100 holds of" in said.err
    assert "abs_max > 40 holds of encoder/MatMul:0" in said.out
    for point in list(breaking._breaks._all.values()):
        breaking._remove(point)
