"""Hooks and sessions that record: MonitoredSession on every version, Estimators where TensorFlow still has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import assert_joined, bits, in_graph, marked

import tensorsleuth
from tensorsleuth import hooks
from tensorsleuth.integrations import tensor_filters, tfdbg_hooks
from tensorsleuth.recording import api

v1 = tf.compat.v1
STEPS = 6
ESTIMATORS = pytest.mark.skipif(not hasattr(tf, "estimator"), reason="this TensorFlow has no Estimator any more")


def network(x: Any) -> tuple[Any, Any]:
    """A loss that goes bad when the sum of a batch is below zero, and the op that trains on it."""
    with v1.variable_scope("net", use_resource=False):
        w = v1.get_variable("w", [4, 1], initializer=v1.ones_initializer())
    loss = tf.reduce_mean(tf.math.log(tf.matmul(x, w)) * 0.5)  # log of what is fed
    train = v1.train.GradientDescentOptimizer(0.01).minimize(loss, global_step=v1.train.get_or_create_global_step())
    return loss, train


def monitored(*given: Any, sign: Callable[[int], float] = lambda step: 1.0, logs: str | None = None) -> list[Any]:
    """Losses of a loop in a MonitoredTrainingSession, with these hooks."""
    losses: list[Any] = []
    with tf.Graph().as_default():
        v1.set_random_seed(3)
        x = v1.placeholder(tf.float32, [None, 4])
        loss, train = network(v1.nn.dropout(x, rate=0.1))
        v1.summary.scalar("loss", loss)
        more = {"save_summaries_steps": 2, "save_checkpoint_steps": 3} if logs else {}
        with v1.train.MonitoredTrainingSession(checkpoint_dir=logs, hooks=list(given), **more) as session:
            for step in range(STEPS):
                if session.should_stop():
                    break
                losses.append(session.run([loss, train], {x: np.full((8, 4), sign(step), np.float32)})[0])
    return losses


@pytest.fixture(autouse=True)
def no_filters_for_all() -> Iterator[None]:
    yield
    tensor_filters._global_filters.clear()


def opened(hook: Any) -> tensorsleuth.Trace:
    assert hook.run is not None
    return tensorsleuth.open(hook.run)


def test_a_hook_records_a_session_and_changes_nothing(tmp_path: Path) -> None:
    bare = monitored(logs=str(tmp_path / "bare"))
    hook = hooks.SleuthHook(tmp_path / "runs")
    counter = v1.train.StepCounterHook(every_n_steps=2, output_dir=str(tmp_path / "counts"))
    watched = monitored(hook, counter, logs=str(tmp_path / "watched"))
    assert bits(watched) == bits(bare)
    assert len(list((tmp_path / "watched").glob("events*"))) == len(list((tmp_path / "bare").glob("events*"))) == 1
    trace = opened(hook)
    assert_joined(trace)
    assert trace.not_covered == []
    assert len(in_graph(trace, "Log", marked("log of what is fed"))) == STEPS
    assert all(look.forward_line == marked("log of what is fed") for look in in_graph(trace, "Reciprocal"))
    assert not api.is_recording()


def test_it_says_why(tmp_path: Path) -> None:
    hook = hooks.SleuthHook(tmp_path)
    losses = monitored(hook, sign=lambda step: 1.0 if step < 3 else -1.0)
    assert len(losses) == STEPS
    found = tensorsleuth.diagnose(opened(hook)).findings[0]
    assert (found.cause, found.line, found.step) == ("log-negative", marked("log of what is fed"), 3)


def test_it_stops_where_a_value_does_harm_and_says_why(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    hook = hooks.SleuthHook(tmp_path, stop_on_nan=True)
    losses = monitored(hook, sign=lambda step: 1.0 if step < 3 else -1.0)
    assert np.isfinite(losses).tolist() == [True, True, True, False]
    assert hook.findings[0].line == marked("log of what is fed")
    assert "PROBLEM" in capfd.readouterr().err


def test_it_looks_at_chosen_runs_only(tmp_path: Path) -> None:
    hook = hooks.SleuthHook(tmp_path, run_filter=range(2, 4))
    bare, watched = monitored(), monitored(hook)
    assert bits(watched) == bits(bare)
    trace = opened(hook)
    assert len(in_graph(trace, "Log")) == 2
    assert_joined(trace)


def test_it_joins_a_recording_that_is_under_way(tmp_path: Path) -> None:
    with tensorsleuth.record(tmp_path) as recording:
        hook = hooks.SleuthHook(tmp_path)
        monitored(hook)
        assert hook.run == recording.path and api.is_recording()


def test_a_filter_fires_once_with_the_value(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    seen: list[Any] = []

    def large(datum: Any, tensor: Any) -> bool:
        if datum.op == "Log":
            seen.append((datum, tensor))
        return bool(datum.op == "Log" and tensor is not None and (tensor > 1.5).any())

    hook = hooks.LocalCLIDebugHook(ui_type="readline", dump_root=str(tmp_path), tensor_filter_fn=large)
    monitored(hook, sign=lambda step: step + 1.0)
    said = capfd.readouterr().err
    assert said.count("filter tensor_filter_fn: Log:0 (Log)") == 1
    datum, tensor = seen[-1]
    assert (datum.node_name, datum.output_slot, datum.tensor_name) == ("Log", 0, "Log:0")
    assert datum.line == marked("log of what is fed") and tensor.shape == (8, 1) == datum.shape
    assert "has_inf_or_nan" not in said


def test_a_filter_may_use_ops_of_tensorflow(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """They run eagerly: the program's graph may be finalized, and the recording does not show them."""

    def has_nan(datum: Any, tensor: Any) -> Any:
        return datum.dtype == "float32" and tf.reduce_any(tf.math.is_nan(tensor))

    hook = hooks.LocalCLIDebugHook(dump_root=str(tmp_path), tensor_filter_fn=has_nan)
    monitored(hook, sign=lambda step: 1.0 if step < 2 else -1.0)
    said = capfd.readouterr().err
    assert "raised" not in said and said.count("filter tensor_filter_fn: Log:0 (Log)") == 1
    assert hook.run is not None and not {"IsNan", "Any"} & {op.type for op in tensorsleuth.open(hook.run).ops()}


def test_a_filter_that_raises_is_named_and_the_others_are_asked(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(datum: Any, tensor: Any) -> bool:
        raise KeyError("no such thing")

    hook = hooks.LocalCLIDebugHook(dump_root=str(tmp_path), tensor_filter_fn=broken)
    hook.add_tensor_filter("is_log", lambda datum, tensor: datum.op == "Log")
    monitored(hook)
    said = capfd.readouterr().err
    assert said.count("the tensor filter tensor_filter_fn raised KeyError") == 1
    assert said.count("filter is_log: Log:0 (Log)") == 1


def test_has_inf_or_nan_is_always_asked_and_opens_the_debugger_for_a_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    shown: list[Any] = []
    monkeypatch.setattr("sys.stdin", _Terminal())
    monkeypatch.setattr("sys.stdout", _Terminal())
    monkeypatch.setattr(tfdbg_hooks, "open_debugger", lambda span: shown.append(span.run))
    hook = hooks.LocalCLIDebugHook(dump_root=str(tmp_path))
    monitored(hook, sign=lambda step: -1.0)
    said = capfd.readouterr().err
    assert "filter has_inf_or_nan: " in said and "PROBLEM" in said
    assert shown == [hook.run]


class _Terminal:
    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        pass


def test_filters_for_all_hooks_and_bad_ones(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    hooks.add_tensor_filter("any_log", lambda datum, tensor: datum.op == "Log")
    hook = hooks.TensorBoardDebugHook(["localhost:6064"])
    hook._recording._logdir = tmp_path
    monitored(hook)
    assert "filter any_log: Log:0" in capfd.readouterr().err
    with pytest.raises(TypeError, match="must be a function of"):
        hook.add_tensor_filter("no", 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="it must be a string"):
        hooks.add_tensor_filter("", lambda datum, tensor: True)


def test_the_tensorboard_hook_says_where_the_run_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SLEUTH_LOGDIR", str(tmp_path))
    hook = hooks.TensorBoardDebugHook("localhost:6064")
    monitored(hook)
    assert f"sleuth view {hook.run}" in capfd.readouterr().err


def test_has_inf_or_nan_by_value_and_by_health() -> None:
    assert hooks.has_inf_or_nan(None, np.array([1.0, np.inf]))
    assert not hooks.has_inf_or_nan(None, np.array([1, 2]))
    assert not hooks.has_inf_or_nan(None, np.array(["text"]))
    assert not hooks.has_inf_or_nan(None, None)


def test_a_dump_keeps_values_of_what_is_watched(tmp_path: Path) -> None:
    class Options:
        op_type_regex_allowlist = "(Log|MatMul)$"
        tensor_dtype_regex_allowlist = "float32"

    hook = hooks.DumpingDebugHook(str(tmp_path), watch_fn=lambda fetches, feeds: Options())
    monitored(hook, sign=lambda step: step + 1.0)
    trace = opened(hook)
    logs = in_graph(trace, "Log")
    assert {look.type for look in in_graph(trace)} == {"Log", "MatMul"} and len(logs) == STEPS
    assert all(look.value.max() == look.row["max"] for look in logs)


@pytest.mark.parametrize("kind", ["SleuthSession", "LocalCLIDebugWrapperSession", "DumpingDebugWrapperSession"])
def test_sessions_that_record(kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [None, 4])
        loss, train = network(x)
        with getattr(hooks, kind)(v1.Session(), str(tmp_path)) as session:
            session.run(v1.global_variables_initializer())
            session.run([loss, train], feed_dict={x: -np.ones((8, 4), np.float32)})
            assert session.graph is tf.compat.v1.get_default_graph() and loss.graph is session.graph
            assert np.isfinite(loss.eval({x: np.ones((8, 4), np.float32)}))
            session.close()
        found = tensorsleuth.diagnose(session.run_folder).findings[0]
    assert (found.cause, found.line) == ("log-negative", marked("log of what is fed"))
    assert ("filter has_inf_or_nan" in capfd.readouterr().err) == (kind == "LocalCLIDebugWrapperSession")


# ---- Estimators


def model_fn(features: Any, labels: Any, mode: str) -> Any:
    loss, train = network(features["x"])
    v1.summary.scalar("mine", loss)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


def batches(sign: float) -> Any:
    rows = {"x": np.full((8 * STEPS, 4), sign, np.float32)}
    return lambda: tf.data.Dataset.from_tensor_slices((rows, np.zeros(8 * STEPS))).batch(8)


def estimate(folder: Path, sign: float, *given: Any) -> Any:
    tf.random.set_seed(4)
    config = tf.estimator.RunConfig(str(folder), tf_random_seed=5, save_summary_steps=2)
    estimator = tf.estimator.Estimator(model_fn, config=config)
    estimator.train(batches(sign), hooks=list(given))  # trained here
    result = estimator.evaluate(batches(1.0), hooks=list(given))
    return [result["loss"], estimator.get_variable_value("net/w")]


@ESTIMATORS
@pytest.mark.filterwarnings("ignore")
def test_an_estimator_computes_the_same_bits(tmp_path: Path) -> None:
    bare = estimate(tmp_path / "bare", 1.0)
    hook = hooks.SleuthHook(tmp_path / "runs")
    watched = estimate(tmp_path / "watched", 1.0, hook, v1.train.StepCounterHook(output_dir=str(tmp_path / "counts")))
    assert bits(watched) == bits(bare)
    trained, evaluated = (tensorsleuth.open(run) for run in sorted((tmp_path / "runs").iterdir()))
    assert len(in_graph(trained, "Log")) == len(in_graph(evaluated, "Log")) == STEPS
    assert in_graph(trained, "Reciprocal") and not in_graph(evaluated, "Reciprocal")
    assert trained.processes[0].catalogue.meta["steps"] == STEPS


@ESTIMATORS
@pytest.mark.filterwarnings("ignore")
def test_an_estimator_that_goes_bad(tmp_path: Path) -> None:
    hook = hooks.SleuthHook(tmp_path / "runs")
    with pytest.raises(v1.train.NanLossDuringTrainingError):
        estimate(tmp_path / "model", -1.0, hook)
    hook.close()
    found = tensorsleuth.diagnose(opened(hook)).findings[0]
    assert (found.cause, found.line, found.step) == ("log-negative", marked("log of what is fed"), 0)
