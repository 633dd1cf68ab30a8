"""Graphs that `tf.compat.v1.Session` runs: seen like functions, with the same bits, and led back to the user's line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import assert_joined, in_graph, looks, marked, only
from tests.compat.sessions import BATCH, KINDS, Recorded, control_flow_v1, finding, session, v1

import tensorsleuth


def dropout_network(resource: bool, optimizer: Callable[[], Any], steps: int = 4) -> list[Any]:
    """Losses and weights of a small training loop with random initialisers and dropout."""
    with session() as sess:
        v1.set_random_seed(7)
        x = v1.placeholder(tf.float32, [None, 4])
        with v1.variable_scope("net", use_resource=resource):
            w, b = v1.get_variable("w", [4, 8]), v1.get_variable("b", [8], initializer=v1.zeros_initializer())
            out = v1.get_variable("out", [8, 1])
        hidden = v1.nn.dropout(tf.nn.tanh(tf.matmul(x, w) + b), rate=0.3)
        loss = tf.reduce_mean(tf.square(tf.matmul(hidden, out) - 1.0) / 3.0 * 2.0)
        train = optimizer().minimize(loss)
        sess.run(v1.global_variables_initializer())
        losses = [sess.run([train, loss], {x: BATCH})[1] for _ in range(steps)]
        return [*losses, *sess.run([w, b, out])]


OPTIMIZERS = [
    lambda: v1.train.GradientDescentOptimizer(0.1),
    lambda: v1.train.AdamOptimizer(0.01),
    lambda: v1.train.MomentumOptimizer(0.05, 0.9),
]


@KINDS
@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=["sgd", "adam", "momentum"])
def test_training_computes_the_same_bits(resource: bool, optimizer: Any, compared: Recorded) -> None:
    trace = compared(lambda: dropout_network(resource, optimizer))
    assert trace.not_covered == []
    assert trace.processes[0].catalogue.meta["steps"] == 4
    assert_joined(trace)
    seen = {look.type for look in in_graph(trace)}
    assert {"MatMul", "Tanh", "RandomUniform", "ReadVariableOp", "Mean"} <= seen
    assert len(in_graph(trace, "TanhGrad")) == 4


@pytest.mark.parametrize("mode", ["NO_TENSOR", "SHAPE", "CURT_HEALTH", "FULL_TENSOR"])
def test_so_it_does_in_every_mode(mode: str, compared: Recorded) -> None:
    assert_joined(compared(lambda: dropout_network(False, OPTIMIZERS[0]), mode=mode))


@KINDS
def test_the_line_of_a_forward_op_is_named(resource: bool, recorded: Recorded) -> None:
    def program() -> None:
        with session() as sess:
            x = v1.placeholder(tf.float32, [None, 4])
            w = v1.get_variable("w", [4, 3], initializer=v1.zeros_initializer(), use_resource=resource)
            probs = tf.nn.relu(tf.matmul(x, w))
            loss = -tf.reduce_mean(tf.math.log(probs) * 2.0)  # log of nothing
            train = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
            sess.run(v1.global_variables_initializer())
            for _ in range(3):
                sess.run(train, {x: BATCH})

    trace = recorded(program)
    found = finding(trace)
    assert (found.cause, found.line, found.step) == ("log-zero", marked("log of nothing"), 0)
    assert any("written to w" in hop for hop in found.chain)
    gradient = in_graph(trace, "Reciprocal") or in_graph(trace, "RealDiv")
    assert gradient[0].forward_line == marked("log of nothing")


@KINDS
def test_a_weight_that_was_spoiled_leads_back_to_the_step_that_did_it(resource: bool, recorded: Recorded) -> None:
    def program() -> None:
        with session() as sess:
            x = v1.placeholder(tf.float32, [])
            w = v1.get_variable("w", [], initializer=v1.ones_initializer(), use_resource=resource)
            spoil = v1.assign(w, w * tf.sqrt(x) + 1.0)  # root of x
            out = tf.exp(w) + tf.sin(w) * 3.0
            sess.run(v1.global_variables_initializer())
            for step in range(5):
                with tensorsleuth.step(step):
                    sess.run(spoil, {x: 2.0 - step})
                    sess.run(out)

    found = finding(recorded(program))
    assert (found.cause, found.line, found.step) == ("sqrt-negative", marked("root of x"), 3)


@KINDS
def test_growth_is_told_at_the_update(resource: bool, recorded: Recorded) -> None:
    def program() -> None:
        with session() as sess:
            x = v1.placeholder(tf.float32, [None, 4])
            w = v1.get_variable("w", [4, 1], initializer=v1.ones_initializer(), use_resource=resource)
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0))
            train = v1.train.GradientDescentOptimizer(9.0).minimize(loss)  # far too much
            sess.run(v1.global_variables_initializer())
            for _ in range(60):
                sess.run([train, loss], {x: BATCH * 8})

    found = finding(recorded(program))
    assert (found.cause, found.line) == ("learning-rate", marked("far too much"))
    assert "learning rate 9" in found.summary


def test_a_bad_feed_is_told_where_it_is_fed(recorded: Recorded) -> None:
    bad = BATCH.copy()
    bad[1, 2] = np.nan

    def program() -> None:
        with session() as sess:
            x = v1.placeholder(tf.float32, [None, 4])
            y = tf.reduce_sum(tf.exp(x) * tf.sin(x))
            for batch in (BATCH, bad):
                sess.run(y, {x: batch})  # fed here

    trace = recorded(program)
    found = finding(trace)
    assert (found.cause, found.line) == ("nan-in-data", marked("fed here"))
    assert [look.bad for look in looks(trace, "Feed")] == [False, True]


def test_infinities_that_a_mask_takes_out_are_no_alarm(recorded: Recorded) -> None:
    def program() -> None:
        with session() as sess:
            x = v1.placeholder(tf.float32, [None, 4])
            safe = tf.where(x > 0, tf.math.log(x), tf.zeros_like(x))
            sess.run(tf.reduce_sum(safe * 2.0) + 1.0, {x: np.maximum(BATCH, 0)})

    diagnosis = tensorsleuth.diagnose(recorded(program))
    assert diagnosis.findings == () and len(diagnosis.masked) == 1


def loop(x: Any) -> Any:
    return tf.while_loop(
        lambda i, a: i < 5,
        lambda i, a: (i + 1, tf.sqrt(a - 1.0) * 1.5),  # root in a loop
        [tf.constant(0), x],
    )[1]


def branch(x: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2.0, lambda: tf.math.log(x))  # log in a branch


def test_loops_and_branches_of_tensorflow_1(compared: Recorded) -> None:
    def program() -> Any:
        with control_flow_v1(), session() as sess:
            x = v1.placeholder(tf.float32, [2])
            looped, branched = loop(x), branch(x - 4.0)
            gradient = v1.gradients(looped, x)[0]
            assert {"Enter", "Switch"} <= {op.type for op in sess.graph.get_operations()}
            return sess.run([looped, branched, gradient], {x: [3.0, 2.5]})

    trace = compared(program)
    roots = in_graph(trace, "Sqrt", marked("root in a loop"))
    assert [look.iteration for look in roots] == [0, 1, 2, 3, 4]
    assert in_graph(trace, "Log", marked("log in a branch")) and not in_graph(trace, "Mul", marked("log in a branch"))
    first = next(found for found in tensorsleuth.diagnose(trace).findings if found.line == marked("root in a loop"))
    assert first.cause == "sqrt-negative"
    assert first.iteration == next(look.iteration for look in roots if look.bad) > 0


def test_functions_loops_and_branches_of_tensorflow_2(compared: Recorded) -> None:
    @tf.function
    def inner(x: Any) -> Any:
        return tf.math.log(x)  # log in a function

    @tf.function
    def outer(x: Any) -> Any:
        return inner(x) * 2.0 + inner(x * 0.5)

    def program() -> Any:
        with session() as sess:
            x = v1.placeholder(tf.float32, [2])
            called = outer(x - 2.5) + outer(x)
            return sess.run([loop(x), branch(x - 4.0), called], {x: [3.0, 2.5]})

    trace = compared(program)
    assert trace.not_covered == []
    assert [look.iteration for look in in_graph(trace, "Sqrt", marked("root in a loop"))] == [0, 1, 2, 3, 4]
    assert in_graph(trace, "Log", marked("log in a branch"))
    logs = in_graph(trace, "Log", marked("log in a function"))
    assert len({look.row["tensor"] for look in logs}) == 4 and sum(look.bad for look in logs) == 2
    assert {found.line for found in tensorsleuth.diagnose(trace).findings} >= {
        marked("root in a loop"),
        marked("log in a function"),
    }


def test_functions_of_the_old_kind(compared: Recorded) -> None:
    from tensorflow.python.framework import function

    def program() -> Any:
        with session() as sess:

            @function.Defun(tf.float32)
            def square(x: Any) -> Any:
                return tf.square(x) + 1.0

            x = v1.placeholder(tf.float32, [2])
            return sess.run(tf.exp(square(x)) * 3.0, {x: [3.0, 2.5]})

    trace = compared(program)
    assert {"Square", "Exp"} <= {look.type for look in in_graph(trace)}


@pytest.mark.parametrize("resource", [True, False])
def test_without_the_optimizer_tensorflows_debugger_puts_us_in(resource: bool, compared: Recorded) -> None:
    def program() -> Any:
        config = v1.ConfigProto()
        config.graph_options.rewrite_options.disable_meta_optimizer = True
        with session(config=config) as sess:
            v1.set_random_seed(3)
            x = v1.placeholder(tf.float32, [3, 4])
            w = v1.get_variable("w", [4, 1], use_resource=resource)
            loss = tf.reduce_mean(tf.exp(tf.matmul(v1.nn.dropout(x, rate=0.2), w)))
            train = v1.train.AdamOptimizer(0.1).minimize(loss)
            sess.run(v1.global_variables_initializer())
            return [sess.run([loss, train], {x: BATCH})[0] for _ in range(3)] + [sess.run(w)]

    trace = compared(program)
    assert trace.not_covered == []
    assert_joined(trace)
    assert len(in_graph(trace, "MatMul")) == 9 and len(in_graph(trace, "Exp")) == 3  # none is left out
    assert trace.processes[0].catalogue.meta["steps"] == 3


def test_a_session_that_ran_before_recording_began(recorded: Recorded) -> None:
    with session() as sess:
        x = v1.placeholder(tf.float32, [3, 4])
        y = tf.math.log(tf.exp(x) - 1.0) * 2.0
        sess.run(y, {x: BATCH})
        trace = recorded(lambda: [sess.run(y, {x: BATCH}), sess.run(y + 1.0, {x: BATCH})])
    (entry,) = trace.not_covered
    assert "Session.run(mul)" in entry["what"] and "before recording began" in entry["why"]
    assert only(in_graph(trace, "Log")).call is not None  # of the second


def test_what_is_tiny_is_seen_by_what_is_fed_and_fetched(recorded: Recorded) -> None:
    def program() -> None:
        with session() as sess:
            x = v1.placeholder(tf.float32, [3, 4])
            sess.run(tf.math.log(x), {x: BATCH})  # tiny

    trace = recorded(program)
    assert trace.not_covered == []
    assert (finding(trace).cause, finding(trace).line) == ("log-negative", marked("tiny"))


@KINDS
@pytest.mark.parametrize("strict", [False, True])
def test_the_guard_raises_in_a_session_and_explains(resource: bool, strict: bool) -> None:
    with session() as sess:
        x = v1.placeholder(tf.float32, [None, 4])
        w = v1.get_variable("w", [4, 1], initializer=v1.ones_initializer(), use_resource=resource)
        loss = tf.reduce_mean(tf.sqrt(tf.matmul(x, w)) * 2.0)  # guarded root
        train = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        with tensorsleuth.guard(strict=strict):
            sess.run(v1.global_variables_initializer())
            sess.run(train, {x: np.ones((2, 4), np.float32)})
            with pytest.raises(tensorsleuth.NumericsError) as raised:
                sess.run(train, {x: -np.ones((2, 4), np.float32)})
        assert bool(np.isfinite(sess.run(w)).all()) == strict
    found = raised.value.findings[0]
    assert (found.cause, found.line) == ("sqrt-negative", marked("guarded root"))


@tf.custom_gradient
def log_slope(x: Any) -> Any:
    return tf.square(x), lambda upstream: upstream * tf.math.log(x - 3.0)  # slope of its own


@tf.RegisterGradient("LogSlopeForSessions")
def _log_slope(op: Any, upstream: Any) -> Any:
    return upstream * tf.math.log(op.inputs[0] - 3.0)  # overridden slope


def overridden(x: Any) -> Any:
    with v1.get_default_graph().gradient_override_map({"Square": "LogSlopeForSessions"}):
        return tf.square(x)


@pytest.mark.parametrize("shape", [(), (2, 3)], ids=["scalar", "matrix"])  # of a scalar, the upstream 1 is left out
@pytest.mark.parametrize(
    ("square", "mark"),
    [(log_slope, "slope of its own"), (tf.function(log_slope), "slope of its own"), (overridden, "overridden slope")],
    ids=["custom", "function", "overridden"],
)
def test_the_guard_raises_for_a_gradient_that_the_program_wrote(square: Any, mark: str, shape: tuple[int, ...]) -> None:
    with session() as sess:
        w = v1.get_variable("w", shape, initializer=v1.constant_initializer(2.0))
        train = v1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(square(w)))
        with tensorsleuth.guard():
            sess.run(v1.global_variables_initializer())
            with pytest.raises(tensorsleuth.NumericsError) as raised:
                sess.run(train)
    found = raised.value.findings[0]
    assert (found.cause, found.line) == ("log-negative", marked(mark)), found.summary


def test_a_gradient_that_a_library_wrote_leads_to_the_forward_line(recorded: Recorded) -> None:
    def program() -> None:
        with session() as sess:
            x = v1.placeholder(tf.float32, [3])
            y = tf.nn.silu(x)  # custom in TensorFlow itself
            sess.run(v1.gradients(tf.sqrt(y), x), {x: [0.0, 1.0, 2.0]})

    trace = recorded(program)
    forwards = [node.forward for one in trace.processes[0].catalogue.functions.values() for node in one.nodes]
    sites = trace.processes[0].catalogue.sites
    lines = {sites[one.site].frame.line for one in forwards if one is not None and one.type == "IdentityN"}  # type: ignore[union-attr]
    assert lines == {marked("custom in TensorFlow itself")}


def test_the_guard_lets_a_gradient_through_that_is_not_applied() -> None:
    with control_flow_v1(), session() as sess, tensorsleuth.guard():
        w = v1.get_variable("w", [], initializer=v1.constant_initializer(1.0))
        (slope,) = v1.gradients(log_slope(w), [w])
        is_fine = tf.math.is_finite(slope)
        masked = v1.assign_sub(w, tf.where(is_fine, slope, tf.zeros_like(slope)) * 1.0)
        skipped = tf.cond(is_fine, lambda: v1.assign_sub(w, slope * 1.0), lambda: w + 0.0)
        sess.run(v1.global_variables_initializer())
        sess.run([masked.op, skipped.op])
        assert sess.run(w) == 1.0


def test_the_guard_lets_masked_infinities_through() -> None:
    with session() as sess, tensorsleuth.guard():
        x = v1.placeholder(tf.float32, [None, 4])
        safe = tf.reduce_sum(tf.where(x > 0, tf.math.log(x), tf.zeros_like(x)) * 2.0)
        for _ in range(3):
            assert np.isfinite(sess.run(safe, {x: np.maximum(BATCH, 0)}))
        with pytest.raises(tensorsleuth.NumericsError, match=r"output 0 of Session\.run"):
            sess.run(tf.math.log(x) * 2.0 + 1.0, {x: BATCH})


def test_interactive_sessions(compared: Recorded) -> None:
    def program() -> Any:
        with control_flow_v1(), tf.Graph().as_default():
            x = v1.placeholder(tf.float32, [3, 4])
            y = tf.exp(x) * 2.0 + 1.0  # overflows
            looped = loop(tf.abs(x[0]) + 3.0)
            sess = v1.InteractiveSession()
            got = [y.eval({x: BATCH}), y.eval({x: BATCH * 100}), looped.eval({x: BATCH})]
            sess.close()
            return got

    trace = compared(program)
    assert trace.not_covered == []
    assert_joined(trace)
    assert [look.bad for look in in_graph(trace, "Exp")] == [False, True]
    assert [look.iteration for look in in_graph(trace, "Sqrt")] == [0, 1, 2, 3, 4]
    assert (finding(trace).cause, finding(trace).line) == ("exp-overflow", marked("overflows"))
