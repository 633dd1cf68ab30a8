"""`expect` of tensors: every argument, wherever a tensor can be, and every part of the message."""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tensorsleuth
from tensorsleuth import ExpectationError, expect
from tensorsleuth.core.violation import Violation

NAN = float("nan")
HERE = __file__


def broken(action: Callable[[], Any]) -> Violation:
    with pytest.raises(ExpectationError) as caught:
        action()
    assert caught.value.violation is not None
    assert isinstance(caught.value, tf.errors.InvalidArgumentError)  # as TensorFlow's own assertions are
    assert str(caught.value) == caught.value.violation.message
    return caught.value.violation


def eagerly(judge: Callable[[Any], Any], value: Any) -> Any:
    return judge(tf.constant(value))


def in_function(judge: Callable[[Any], Any], value: Any) -> Any:
    return _function(judge, value, False)


def compiled(judge: Callable[[Any], Any], value: Any) -> Any:
    return _function(judge, value, True)


def _function(judge: Callable[[Any], Any], value: Any, compiled: bool) -> Any:
    tensor = tf.constant(value)
    spec = tf.TensorSpec([None] * len(tensor.shape), tensor.dtype)  # sizes are known only when it runs
    return tf.function(judge, input_signature=[spec], jit_compile=compiled)(tensor)


def as_statement(judge: Callable[[Any], Any], value: Any) -> Any:
    def run(x: Any) -> Any:
        judge(x)
        return x

    return _function(run, value, False)


def in_dataset(judge: Callable[[Any], Any], value: Any) -> Any:
    return next(iter(tf.data.Dataset.from_tensors(value).map(judge)))


def in_loop(judge: Callable[[Any], Any], value: Any) -> Any:
    def run(x: Any) -> Any:
        for _ in tf.range(2):
            x = judge(x)
        return x

    return _function(run, value, False)


def in_branch(judge: Callable[[Any], Any], value: Any) -> Any:
    return _function(lambda x: tf.cond(tf.size(x) > 0, lambda: judge(x), lambda: x), value, False)


def in_v1_graph(judge: Callable[[Any], Any], value: Any) -> Any:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(np.asarray(value).dtype, [None] * np.ndim(value))
        return session.run(judge(x), {x: value})


WAYS = [eagerly, in_function, compiled, as_statement, in_dataset, in_loop, in_branch, in_v1_graph]
GOOD = np.array([[0.25, 0.75], [0.5, 0.5]], np.float32)
BAD = np.array([[0.25, 0.75], [0.5, 1.5]], np.float32)
RULES: dict[str, tuple[dict[str, Any], Any, Any, str]] = {
    "dtype": ({"dtype": "float32"}, GOOD, BAD.astype(np.int32), "expected float32, found int32"),
    "rank": ({"rank": 2}, GOOD, BAD[0], "expected rank 2, found rank 1"),
    "shape": ({"shape": (2, None)}, GOOD, np.zeros([3, 2], np.float32), "expected shape [2, *], found [3, 2]"),
    "rest": ({"shape": (..., 2)}, GOOD, np.zeros([1, 3], np.float32), "expected shape […, 2], found [1, 3]"),
    "max_elements": ({"max_elements": 4}, GOOD, np.zeros([1, 5], np.float32), "expected at most 4 elements, found 5, shape [1, 5]"),  # noqa: E501
    "finite": (
        {"finite": True}, GOOD, np.array([[0, NAN], [np.inf, 1]], np.float32),
        "expected finite values, found 2 of 4: 1 NaN, 1 infinite; first at [0, 1] NaN, [1, 0] ∞",
    ),
    "between": (
        {"between": (0, 1)}, GOOD, BAD,
        "expected values between 0 and 1, found 1 of 4: values from 0.25 to 1.5; first at [1, 1] 1.5",
    ),
    "one_of": ({"one_of": (0, 2)}, np.array([0, 2, 2]), np.array([0, 7, 2]), "expected one of 0, 2, found 1 of 3: other values; first at [1] 7"),  # noqa: E501
    "increasing": (
        {"increasing": True, "axis": 0}, np.array([[1, 5], [2, 6]]), np.array([[1, 5], [2, 5]]),
        "expected values that increase along axis 0, found 1 of 2: values that are not larger than the one before; first at [1, 1] 5",  # noqa: E501
    ),
    "sums_to": ({"sums_to": 1}, GOOD, BAD, "expected sums of 1, found 1 of 2: sums from 1 to 2; first at [1] 2"),
    "that": ({"that": lambda x: x < 1}, GOOD, BAD, "expected the function `that` to be True, found 1 of 4: False; first at [1, 1] 1.5"),  # noqa: E501
    "whole": ({"that": lambda x: x[0, 0] == 0.25}, GOOD, BAD + 1, "expected the function `that` to be True, found False"),  # noqa: E501
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rule", RULES)
def test_every_rule_everywhere(rule: str, way: Callable[..., Any]) -> None:
    expected, good, bad, sentence = RULES[rule]

    def judge(x: Any) -> Any:
        return expect(x, name="x", **expected)

    assert np.array_equal(np.asarray(way(judge, good)), good)
    found = broken(lambda: way(judge, bad))
    told = found.sentence.replace("shape [*, *]", f"shape {list(bad.shape)}").replace(" (iteration 1 of its loop)", "")
    assert told.startswith(f"x: {sentence}")
    assert (found.file, found.code) == (HERE, 'return expect(x, name="x", **expected)')


def test_it_runs_where_nobody_takes_it_and_nothing_is_returned() -> None:
    @tf.function
    def run(x: Any) -> None:
        for at in tf.range(3):
            if at > 0:
                expect(x / tf.cast(2 - at, tf.float32), finite=True)

    assert broken(lambda: run(tf.ones(2))).where == "iteration 2 of its loop"


def test_nothing_is_ordered_by_it() -> None:
    @tf.function
    def run(x: Any) -> Any:
        return expect(x, finite=True) + expect(x * 2, finite=True)

    graph = run.get_concrete_function(tf.TensorSpec([2])).graph
    ops = [op for op in graph.get_operations() if op.type == "SleuthExpect"]
    assert len(ops) == 2 and not any(op.control_inputs for op in ops)


def test_functions_in_functions() -> None:
    @tf.function
    def inner(x: Any) -> Any:
        return expect(x, finite=True, name="inner") * 2

    outer = tf.function(lambda x: inner(x) + 1)
    compiled_outer = tf.function(lambda x: inner(x) + 1, jit_compile=True)  # inner has been traced without XLA
    for function in (inner, outer, compiled_outer, inner):
        function(tf.ones(2))
        assert broken(lambda: function(tf.constant([1.0, NAN]))).positions == ((1,),)  # noqa: B023
        function(tf.ones(2))  # and all is well again


@pytest.mark.parametrize("jit", [False, True])
def test_gradients_are_as_without(jit: bool) -> None:
    def slope(x: Any, judge: Callable[[Any], Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = judge(judge(tf.sin(x)) * x)
        return y, tape.gradient(y, x)

    x = tf.linspace(0.1, 0.9, 50)
    bare = tf.function(lambda x: slope(x, lambda y: y), jit_compile=jit)(x)
    judged = tf.function(lambda x: slope(x, lambda y: expect(y, between=(0, 1), finite=True)), jit_compile=jit)(x)
    assert [one.numpy().tobytes() for one in bare] == [one.numpy().tobytes() for one in judged]
    through = tf.function(lambda x: expect(x * x, finite=True), jit_compile=jit)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = through(x)
    assert np.array_equal(tape.gradient(y, x), 2 * x)


def test_xla_sees_loops_branches_and_inner_shapes() -> None:
    @tf.function(jit_compile=True)
    def run(x: Any) -> Any:
        for at in tf.range(3):
            expect(x / tf.cast(2 - at, tf.float32), finite=True, name="ratio")
        if tf.reduce_sum(x) > 0:
            x = expect(x, between=(0, 1), name="positive")
        return x

    assert broken(lambda: run(tf.ones(2))).found == "2 infinite"


def test_autoclustering() -> None:
    tf.config.optimizer.set_jit("autoclustering")
    try:
        found = broken(lambda: in_function(lambda x: expect(tf.exp(x) * 2, between=(0, 5)), [1.0, 2.0]))
    finally:
        tf.config.optimizer.set_jit("")
    assert (found.broken, found.total, found.positions) == (2, 2, ((0,), (1,)))


@pytest.mark.parametrize("jit", [False, True])
def test_named_sizes_hold_for_one_run(jit: bool) -> None:
    @tf.function(input_signature=[tf.TensorSpec(None), tf.TensorSpec([None])], jit_compile=jit)
    def run(x: Any, y: Any) -> Any:
        expect(x, shape=("batch", 3))
        return expect(y, shape=("batch",))

    for size in (2, 4, 3):
        run(tf.zeros([size, 3]), tf.zeros(size))
    found = broken(lambda: run(tf.zeros([2, 3]), tf.zeros(5)))
    assert re.match("batch = (2|5) as at test_expect.py:", found.expected)  # either may be computed first
    assert found.found in ("batch = 5, shape [5]", "batch = 2, shape [2, 3]")
    assert found.other == found.expected.rpartition(" ")[2] and found.line != int(found.other.rpartition(":")[2])
    run(tf.zeros([5, 3]), tf.zeros(5))


def test_named_sizes_that_are_known_are_told_while_tracing() -> None:
    @tf.function
    def run(x: Any, y: Any) -> None:
        expect(x, shape=("time",))
        expect(y, shape=("time", None))
        raise AssertionError("not reached")

    assert broken(lambda: run(tf.zeros(2), tf.zeros([3, 1]))).found == "time = 3, shape [3, 1]"


def test_what_is_known_while_tracing_costs_nothing() -> None:
    function = tf.function(lambda x: expect(x, dtype=tf.float32, rank=1, shape=(2,), max_elements=9))
    graph = function.get_concrete_function(tf.TensorSpec([2])).graph
    assert [op.type for op in graph.get_operations()] == ["Placeholder", "Identity"]


def test_ragged() -> None:
    ragged = tf.ragged.constant([[0.5, 1.0], [], [3.0]])
    assert expect(ragged, shape=(3, None), rank=2, finite=True, max_elements=3) is ragged
    assert broken(lambda: expect(ragged, between=(0, 1))).first == "[2, 0] 3"
    assert broken(lambda: expect(ragged, shape=(3, 2))).found == "[3, ragged]"
    assert broken(lambda: expect(ragged, max_elements=2)).found == "3, shape [3, ragged]"
    assert broken(lambda: expect(ragged, sums_to=1.5)).name == "ragged[1]"
    judged = tf.function(lambda x: expect(x, between=(0, 1), name="r"))
    assert broken(lambda: judged(ragged)).sentence.startswith(
        "r.flat_values: expected values between 0 and 1, found 1 of 3"
    )
    assert judged(tf.ragged.constant([[0.5], []])).to_list() == [[0.5], []]


def test_sparse_and_slices() -> None:
    sparse = tf.sparse.from_dense([[0.0, 2.0], [3.0, 0.0]])
    assert expect(sparse, shape=("rows", 2), between=(0, 3)) is sparse
    assert broken(lambda: expect(sparse, between=(0, 2))).first == "[1, 0] 3"
    assert broken(lambda: expect(sparse, rank=1)).found == "rank 2, shape [2, 2]"
    judged = tf.function(lambda x: tf.sparse.to_dense(expect(x, between=(0, 2), name="s")))
    assert broken(lambda: judged(sparse)).name == "s.values"
    assert judged(tf.sparse.from_dense([[1.0]])).numpy().tolist() == [[1.0]]
    slices = tf.IndexedSlices(tf.constant([[1.0, NAN]]), tf.constant([7]), tf.constant([9, 2]))
    assert broken(lambda: expect(slices, finite=True)).first == "[7, 1] NaN"


def test_structures_variables_and_texts_in_functions() -> None:
    weight = tf.Variable([1.0, 2.0], name="w")
    assert expect(weight, finite=True) is weight
    judged = tf.function(lambda pair: expect({"a": pair, "w": weight}, between=(0, 1), name="in")["a"])
    assert broken(lambda: judged((tf.constant(0.5), [tf.constant(1.0)]))).name == "in['w']"
    weight.assign([0.0, 1.0])
    assert broken(lambda: judged((tf.constant(0.5), [tf.constant(3.0)]))).name == "in['a'][1][0]"
    text = tf.function(lambda x: expect(x, one_of=("cat", "dog"), name="animal"))
    assert text(tf.constant(["cat"])).numpy().tolist() == [b"cat"]
    assert broken(lambda: text(tf.constant(["dog", "cow"]))).first == "[1] 'cow'"


def test_what_the_function_of_that_raises_is_raised() -> None:
    def fails(x: Any) -> bool:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        in_function(lambda x: expect(x, that=fails), [1.0])


def test_that_cannot_call_python_in_xla() -> None:
    with pytest.raises(tensorsleuth.SleuthError, match="Write it with TensorFlow's ops"):
        compiled(lambda x: expect(x, that=np.isfinite), [1.0])


def test_warnings_and_records_let_it_run() -> None:
    @tf.function
    def run(x: Any) -> Any:
        return expect(expect(x, finite=True, name="w", on_violation="warn"), finite=True, on_violation="record") + 1

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for _ in range(3):
            assert np.isnan(run(tf.constant([NAN])).numpy()).all()
    assert [one.category for one in warned] == [tensorsleuth.ExpectationWarning] and warned[0].filename == HERE
    assert str(warned[0].message).startswith("w: expected finite values")


def test_many_threads() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None])])
    def run(x: Any) -> Any:
        return expect(x, between=(0, 100), shape=("n",), name="x")

    failed: list[int] = []

    def work(number: int) -> None:
        nonlocal failed
        for at in range(30):
            value = tf.fill([number + 1], 1000.0 + number if at % 3 == 0 else 1.0)
            try:
                run(value)
            except ExpectationError as error:
                failed += [number] if error.violation.values[0] == 1000.0 + number else [-1]  # type: ignore[union-attr]

    threads = [threading.Thread(target=work, args=[number]) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(failed) == sorted(list(range(6)) * 10)


def test_without_the_native_library(monkeypatch: pytest.MonkeyPatch) -> None:
    from tensorsleuth.native import loader

    monkeypatch.setattr(loader, "load", lambda: None)
    for rule in ("shape", "finite", "between", "sums_to", "that"):
        expected, good, bad, sentence = RULES[rule]
        for way in (eagerly, in_function, as_statement, in_dataset, in_loop):
            assert np.array_equal(way(lambda x: expect(x, name="x", **expected), good), good)  # noqa: B023
            assert broken(lambda: way(lambda x: expect(x, name="x", **expected), bad)).sentence == f"x: {sentence}"  # noqa: B023  # noqa: E501


def test_what_was_traced_before_is_left_out_of_compiled_functions(capfd: pytest.CaptureFixture[str]) -> None:
    kept = tf.function(lambda x: expect(x, finite=True) * 2).get_concrete_function(tf.TensorSpec([2]))
    around = tf.function(lambda x: kept(x) + 1, jit_compile=True)
    outermost = tf.function(lambda x: around(x) - 1)
    for function in (around, outermost):
        assert np.isnan(function(tf.constant([1.0, NAN])).numpy()).tolist() == [False, True]
    assert "expect, log and watch do nothing in that. Call the tf.function itself." in capfd.readouterr().err
    assert broken(lambda: kept(tf.constant([1.0, NAN]))).positions == ((1,),)


def test_bits_are_those_of_check_numerics_and_under_xla_those_without() -> None:
    from bench.models import Transformer

    def trained(judge: Callable[[Any], Any], jit: bool) -> list[bytes]:
        model = Transformer(layers=1, width=32, heads=2, sequence=16, batch=2, vocabulary=50)
        model.judge = judge
        step = tf.function(model.one_step, jit_compile=jit)
        for _ in range(3):
            step()
        return [value.tobytes() for value in model.values()]

    judged = trained(lambda x: expect(x, finite=True), False)
    assert judged == trained(lambda x: tf.debugging.check_numerics(x, "bad"), False)
    assert trained(lambda x: expect(x, finite=True), True) == trained(lambda x: x, True)
