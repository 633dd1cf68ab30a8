"""Every way in which programs use sessions."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2
from tests.compat.looking import assert_joined, bits, in_graph, marked, only
from tests.compat.sessions import BATCH, Recorded, session, v1


def test_graphs_grow_and_sessions_are_many(compared: Recorded) -> None:
    def program() -> Any:
        got: list[Any] = []
        with tf.Graph().as_default():
            x = v1.placeholder(tf.float32, [3, 4])
            y = tf.exp(x) * 2.0 + 1.0
            for _ in range(2):
                with v1.Session() as sess:
                    got += [sess.run(y, {x: BATCH}), sess.run([tf.sin(y) * 3.0, y, tf.cos(y)], {x: BATCH})]
                    got += [sess.run({"a": [y], "b": y + 1.0}, {x: BATCH})]
        return got

    trace = compared(program)
    assert trace.not_covered == []
    assert len(in_graph(trace, "Sin")) == 2 and len(in_graph(trace, "Exp")) == 6
    assert_joined(trace)


def test_the_order_of_fetches_does_not_matter(compared: Recorded) -> None:
    def program() -> Any:
        with session() as sess:
            x = v1.placeholder(tf.float32, [3, 4])
            a, b = tf.exp(x) * 2.0, tf.sin(x) * 3.0
            return [sess.run([a, b], {x: BATCH}), sess.run([b, a, a], {x: BATCH})]

    trace = compared(program, mode="FULL_TENSOR")
    a1, a2 = (look for look in in_graph(trace, "Mul") if look.tensor.name == "mul")
    assert a1.row["tensor"] == a2.row["tensor"] and bits(a1.value) == bits(a2.value)
    assert trace.not_covered == []


def test_eval_and_constants(compared: Recorded) -> None:
    def program() -> Any:
        with session() as sess, sess.as_default():
            y = tf.exp(v1.placeholder_with_default(BATCH, [3, 4])) * 2.0 + 1.0  # folded
            return [y.eval(), y.eval()]

    trace = compared(program)
    assert only(in_graph(trace, "Exp", marked("folded"))).call == 1  # TensorFlow evaluates it once
    assert len(in_graph(trace, "AddV2")) == 2


def test_what_an_interactive_session_still_hides_is_listed(compared: Recorded) -> None:
    def program() -> Any:
        with tf.Graph().as_default():
            x = v1.placeholder(tf.float32, [3, 4])
            y = tf.function(lambda x: tf.exp(x) * 2.0)(x) + 1.0
            sess = v1.InteractiveSession()
            options = v1.RunOptions(trace_level=v1.RunOptions.NO_TRACE)
            got = [y.eval({x: BATCH}), sess.run(y * 2.0, {x: BATCH}, options=options)]
            sess.close()
            return got

    whats = [entry["what"] for entry in compared(program).not_covered]
    assert any(what.startswith("the inside of __inference_") for what in whats)
    assert "what sessions run through RunOptions while the graph optimizer is off" in whats


def test_any_tensor_may_be_fed_and_of_any_dtype(compared: Recorded) -> None:
    def program() -> Any:
        with session() as sess:
            text, number = v1.placeholder(tf.string, []), v1.placeholder(tf.int32, [2])
            hidden = tf.exp(tf.cast(number, tf.float32)) + 1.0
            out = tf.math.log(hidden) * 2.0
            lengths = tf.strings.length(text) + number
            fed = {hidden: [1.0, 2.0], text: "four", number: [1, 2]}
            return sess.run([out, lengths, hidden], fed)

    trace = compared(program)
    assert not in_graph(trace, "Exp") and only(in_graph(trace, "Log")).row["max"] == pytest.approx(np.log(2))


def test_errors_are_the_programs_own_and_are_kept(recorded: Recorded) -> None:
    def program() -> str:
        with session() as sess:
            x, i = v1.placeholder(tf.float32, [None]), v1.placeholder(tf.int32, [1])
            y = tf.exp(tf.gather(x * 2.0, i)) + 1.0  # too far
            with pytest.raises(tf.errors.InvalidArgumentError) as raised:
                sess.run(y, {x: [1.0, 2.0], i: [7]})
            return str(raised.value.message) + repr(raised.value.op)

    said: list[str] = []
    for run in (lambda action: action(), recorded):
        trace: Any = run(lambda: said.append(program()))
    assert said[0].partition("Node: ")[2] == said[1].partition("Node: ")[2] and "GatherV2" in said[0]
    (failure,) = trace.processes[0].catalogue.failures
    assert failure.type == "InvalidArgumentError" and "indices" in failure.message
    from tensorsleuth.diagnose.exits.failure import find_fatal_error

    death = find_fatal_error(trace.processes[0], 1)
    assert death is not None and death.kind.cause == "index-out-of-range"
    assert death.site is not None and death.site.frame is not None
    assert death.site.frame.line == marked("too far")


def test_partial_runs_are_listed(compared: Recorded) -> None:
    def program() -> Any:
        with session() as sess:
            x = v1.placeholder(tf.float32, [3, 4])
            y = tf.exp(x) * 2.0 + 1.0
            handle = sess.partial_run_setup([y], [x])
            return sess.partial_run(handle, y, {x: BATCH})

    (entry,) = compared(program).not_covered
    assert entry["what"] == "what sessions run through partial_run"


def test_callables_are_runs_too(compared: Recorded) -> None:
    def program() -> Any:
        with session() as sess:
            x = v1.placeholder(tf.float32, [3, 4])
            y = tf.exp(x) * 2.0 + 1.0
            z = tf.sin(v1.random_uniform([3], seed=3)) * 2.0 + 1.0
            options = config_pb2.CallableOptions(feed=[x.name], fetch=[y.name], target=[z.op.name])
            made = sess._make_callable_from_options(options)
            free = sess.make_callable({"z": z})
            return [sess.make_callable(y, [x])(BATCH), free(), free(), made(BATCH), made(BATCH)]

    trace = compared(program)
    assert trace.not_covered == []
    assert len(in_graph(trace, "Exp")) == 3 and len(in_graph(trace, "Sin")) == 4
    assert_joined(trace)


def test_datasets_in_a_graph_run_and_their_functions_are_listed(compared: Recorded) -> None:
    def program() -> Any:
        with session() as sess:
            data = tf.data.Dataset.from_tensor_slices(BATCH).map(lambda row: row * 2.0)
            row = v1.data.make_one_shot_iterator(data).get_next()
            out, got = tf.exp(row) * 3.0, []
            with contextlib.suppress(tf.errors.OutOfRangeError):
                while True:
                    got.append(sess.run(out))
            return got

    trace = compared(program)
    assert trace.processes[0].catalogue.failures == []
    assert len(in_graph(trace, "Exp")) == 3
    assert all("in a session" in entry["what"] for entry in trace.not_covered) and trace.not_covered


def test_threads_that_run_one_session(recorded: Recorded) -> None:
    def program() -> None:
        with session() as sess:
            x = v1.placeholder(tf.float32, [3, 4])
            y, z = tf.exp(x) * 2.0 + 1.0, tf.sin(x) * 2.0 + 1.0

            def work(what: Any) -> None:
                for _ in range(20):
                    sess.run(what, {x: BATCH})

            threads = [threading.Thread(target=work, args=(what,)) for what in (y, z, y, z)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    trace = recorded(program)
    assert_joined(trace)
    calls = [look.call for look in in_graph(trace) if look.type in ("Exp", "Sin")]
    assert len(calls) == len(set(calls)) == 80
    for look in in_graph(trace):
        assert look.row["step"] in trace.processes[0].call_of_tf_step


def test_the_graph_is_left_as_it_is(recorded: Recorded) -> None:
    with session() as sess:
        v1.set_random_seed(3)
        noise = tf.exp(v1.random_normal([3])) * 2.0
        before = sess.graph.as_graph_def().SerializeToString(deterministic=True)
        sess.graph.finalize()
        recorded(lambda: sess.run(noise))
        assert sess.graph.as_graph_def().SerializeToString(deterministic=True) == before
