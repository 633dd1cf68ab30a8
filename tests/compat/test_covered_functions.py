"""Functions of every kind are recorded: the same results, and rows with the right line, call, step and health."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tests.compat.looking import assert_joined, in_graph, looks, marked, only

from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.trace.reader import Trace

Compared = Callable[..., Trace]
X = tf.constant([1.0, 2.0, 0.0])


def test_an_eager_op(compared: Compared) -> None:
    trace = compared(lambda: tf.math.log(X))  # eager log
    look = only(looks(trace, "Log"))
    assert not look.in_graph and look.bad
    assert (look.frame.file, look.line) == (__file__, marked("eager log"))
    assert look.row["neg_inf"] == 1 and look.row["first_bad"] == 2
    assert_joined(trace)


def test_a_function(compared: Compared) -> None:
    def program() -> Any:
        @tf.function
        def function(x: Any) -> Any:
            y = tf.math.log(x)  # log in a function
            return tf.reduce_sum(y * 2.0)

        return function(X)  # call of the function

    trace = compared(program)
    look = only(in_graph(trace, "Log"))
    assert (look.frame.file, look.line) == (__file__, marked("log in a function"))
    assert look.frame.function == "function"
    assert look.bad and look.row["neg_inf"] == 1 and look.row["pos"] == 1 and look.row["zero"] == 1
    process = trace.processes[0]
    (call,) = [row for row in process.calls if row["kind"] == CallKind.FUNCTION]
    assert look.call == call["call"]
    called = process.catalogue.eager[int(call["op"])]
    assert process.catalogue.sites[called.site].frame.line == marked("call of the function")  # type: ignore[union-attr]
    assert_joined(trace)
    assert trace.not_covered == []


def test_a_method_and_a_module(compared: Compared) -> None:
    class Layer(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = tf.Variable([1.0, -1.0, 0.0], name="weight")

        @tf.function
        def __call__(self, x: Any) -> Any:
            return tf.sqrt(self.weight * x)  # sqrt in a method

    trace = compared(lambda: Layer()(X))
    look = only(in_graph(trace, "Sqrt"))
    assert look.line == marked("sqrt in a method")
    assert look.row["nan"] == 1
    captured = [c for f in trace.processes[0].catalogue.functions.values() for c in f.captures.values()]
    assert [c["variable"] for c in captured] == ["weight:0"]


def test_retracing_for_other_shapes_and_python_values(compared: Compared) -> None:
    def program() -> Any:
        @tf.function
        def function(x: Any, power: int) -> Any:
            return tf.exp(x) * float(power)

        return [function(X, 1), function(tf.ones([2, 2]), 1), function(X, 2), function(X, 1)]

    trace = compared(program)
    found = in_graph(trace, "Exp")
    assert len(found) == 4
    assert [look.process.shape_of(look.row) for look in found] == [(3,), (2, 2), (3,), (3,)]
    assert len({look.tensor.function.id for look in found if look.tensor.function}) == 3
    assert len({look.call for look in found}) == 4


def test_nested_functions(compared: Compared) -> None:
    def program() -> Any:
        @tf.function
        def inner(x: Any) -> Any:
            return tf.math.log(x)  # log in an inner function

        @tf.function
        def outer(x: Any) -> Any:
            return inner(x + 1.0) + inner(x)

        return outer(X)

    trace = compared(program)
    first, second = sorted(in_graph(trace, "Log"), key=lambda look: look.bad)
    assert first.line == second.line == marked("log in an inner function")
    assert not first.bad and second.bad
    assert first.tensor.instance != second.tensor.instance
    assert first.tensor.function == second.tensor.function
    instance = first.tensor.instance
    assert instance is not None
    parent = trace.processes[0].catalogue.instances[instance.parent]
    outer = trace.processes[0].catalogue.functions[parent.function]
    assert "PartitionedCall" in outer.nodes[instance.node].type
    assert first.call == second.call
    assert_joined(trace)


def test_one_function_called_from_two_others(compared: Compared) -> None:
    def program() -> Any:
        inner = tf.function(lambda x: tf.math.log(x))
        first = tf.function(lambda x: inner(x) + 1.0)
        second = tf.function(lambda x: inner(x) + 2.0)
        return first(X), second(X + 1.0)

    bad, good = in_graph(compared(program), "Log")
    assert bad.bad and not good.bad
    assert bad.tensor.instance != good.tensor.instance
    assert bad.call != good.call


def test_functions_traced_before_recording(compared: Compared) -> None:
    @tf.function
    def function(x: Any) -> Any:
        return tf.math.log(x)  # log traced before

    function(X)
    look = only(in_graph(compared(lambda: function(X)), "Log"))
    assert look.line == marked("log traced before") and look.bad


def test_concrete_functions(compared: Compared) -> None:
    function = tf.function(lambda x: tf.math.log(x)).get_concrete_function(tf.TensorSpec([None]))
    look = only(in_graph(compared(lambda: function(X)), "Log"))
    assert look.bad and look.process.shape_of(look.row) == (3,)


def test_functions_without_outputs_with_none_and_with_many(compared: Compared) -> None:
    def program() -> Any:
        total = tf.Variable(0.0)

        @tf.function
        def nothing(x: Any) -> None:
            total.assign_add(tf.reduce_sum(tf.exp(x)))

        @tf.function
        def some(x: Any) -> Any:
            return None, tf.math.log(x), {"more": [None, x + 1.0]}

        @tf.function
        def many(x: Any) -> Any:
            return [tf.sin(x + float(i)) for i in range(300)]

        assert nothing(X) is None
        empty, log, rest = some(X)
        assert empty is None and rest["more"][0] is None
        return [total.read_value(), log, rest["more"][1], *many(X)]

    trace = compared(program)
    assert only(in_graph(trace, "Exp")).call is not None
    assert only(in_graph(trace, "Log")).bad
    assert len(in_graph(trace, "Sin")) == 300
    assert_joined(trace)


def test_functions_that_do_nothing_to_speak_of(compared: Compared) -> None:
    """TensorFlow passes over, or folds away, all of them: that must not count as a failure of ours."""

    def program() -> Any:
        functions = [lambda x: x, lambda x: 3.0, lambda x: tf.identity(x), lambda x: None]
        results = [tf.function(function)(X) for function in functions]
        tf.function(lambda: None)()
        return [result for result in results if result is not None] + [tf.function(lambda: tf.zeros([2]) + 1.0)()]

    trace = compared(program)
    assert trace.not_covered == []
    later = tf.function(lambda x: tf.math.log(x))
    assert only(in_graph(compared(lambda: later(X)), "Log")).bad


def test_compiled_functions_that_go_well_run_as_they_are(compared: Compared) -> None:
    def program() -> Any:
        @tf.function(jit_compile=True)
        def compiled(x: Any) -> Any:
            return tf.exp(x) + 1.0

        outer = tf.function(lambda x: compiled(tf.math.log(x)))
        return compiled(X), outer(X + 2.0)  # call of what is compiled

    trace = compared(program)
    assert trace.not_covered == []
    assert trace.processes[0].catalogue.replays == {}
    assert not only(in_graph(trace, "Log")).bad  # what runs around it is seen
    results = [look for look in looks(trace) if "compiled" in look.type and not look.in_graph]
    assert results and results[0].row["max"] > 1.0  # and what comes out of it


def test_control_dependencies_prints_and_asserts(compared: Compared) -> None:
    def program() -> Any:
        seen = tf.Variable(0.0)

        @tf.function
        def function(x: Any) -> Any:
            tf.debugging.assert_greater_equal(x, 0.0)
            tf.debugging.assert_all_finite(x, "must be finite")
            tf.print("x is", x, output_stream="file:///dev/null")
            with tf.control_dependencies([seen.assign_add(1.0)]):
                y = tf.math.log(x)
            return y + seen

        return function(X), function(X + 1.0)

    trace = compared(program)
    assert [look.bad for look in in_graph(trace, "Log")] == [True, False]
    assert_joined(trace)


def test_strange_names(compared: Compared) -> None:
    def program() -> Any:
        def odd(x: Any) -> Any:
            with tf.name_scope("a/b.c"):
                return tf.math.log(x, name="sleuth_call")

        odd.__name__ = "sleuth/__sleuth_1_1 ü<λ>"
        return tf.function(odd)(X)

    assert only(in_graph(compared(program), "Log")).bad
