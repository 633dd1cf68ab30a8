"""watch: every kind of tensor and of measure, in eager code, functions, loops and Keras; the numbers are NumPy's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat import kerases, watchable
from tests.compat.kerases import KERASES
from tests.compat.looking import bits
from tests.compat.watchable import WAYS, Program, X, agree, only

import tensorsleuth
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.trace.reader import Trace

watched = watchable.watched  # a fixture


@pytest.mark.parametrize("way", WAYS)
def test_variables_after_each_step(watched: Callable[..., Trace], way: str) -> None:
    program = Program()
    trace = watched(lambda: getattr(program, way)(6), "encoder/.*/kernel", every=2)
    series = only(trace)
    assert (series.kind, series.name) == ("variable", "encoder/dense/kernel")
    assert series.steps.tolist() == [0, 2, 4]
    agree(series, program.values[1::2])
    moved = [np.linalg.norm(program.values[at + 1].astype(np.float64) - program.values[at]) for at in (0, 2, 4)]
    sizes = [np.linalg.norm(program.values[at].astype(np.float64)) for at in (0, 2, 4)]
    np.testing.assert_allclose(series.ratio, np.divide(moved, sizes), rtol=1e-6)


@pytest.mark.parametrize("way", WAYS)
def test_updates(watched: Callable[..., Trace], way: str) -> None:
    program = Program()
    trace = watched(lambda: getattr(program, way)(4), "update:.*kernel", what=("norm", "histogram"))
    series = only(trace, "encoder/dense/kernel", "update")
    assert series.steps.tolist() == [0, 1, 2, 3] and series.tag == "update/encoder/dense/kernel"
    agree(series, [after - before for before, after in zip(program.values, program.values[1:], strict=False)])


@pytest.mark.parametrize("way", ["eager", "function"])
def test_gradients(watched: Callable[..., Trace], way: str) -> None:
    program = Program()
    trace = watched(lambda: getattr(program, way)(5), "gradient:encoder/.*", every=3)
    series = only(trace)
    assert (series.kind, series.steps.tolist()) == ("gradient", [0, 3])
    agree(series, program.gradients[::3])


def test_gradients_of_compiled_functions_are_said_not_to_be_seen(
    watched: Callable[..., Trace], capfd: pytest.CaptureFixture[str]
) -> None:
    trace = watched(lambda: Program().compiled(2), "gradient:.*")
    assert trace.watched() == []
    said = capfd.readouterr().err
    assert (
        "watch cannot see inside step (it is compiled by XLA); its variables are still watched after each step." in said
    )


@pytest.mark.parametrize("way", ["eager", "function"])
@pytest.mark.parametrize("mode", ["CURT_HEALTH", "FULL_TENSOR", "NO_TENSOR"])
def test_outputs_of_ops(watched: Callable[..., Trace], way: str, mode: str) -> None:
    program = Program()
    trace = watched(lambda: getattr(program, way)(3), "op:MatMul", mode=mode)
    first = trace.watched("MatMul" if way == "eager" else "encoder/MatMul")[0]
    assert first.kind == "tensor" and set(first.steps.tolist()) == {0, 1, 2}
    if way == "function":
        agree(first, program.products)


def test_layers_by_name(watched: Callable[..., Trace]) -> None:
    program = Program()
    trace = watched(lambda: program.function(2), "layer:encoder")
    names = [series.name for series in trace.watched(kind="tensor")]
    assert "encoder/MatMul" in names and all("encoder" in name for name in names)


def test_a_loop_is_seen_in_each_iteration(watched: Callable[..., Trace]) -> None:
    @tf.function
    def grow(x: Any) -> Any:
        for _ in tf.range(4):
            x = tensorsleuth.watch(x * 2.0, name="doubled", what="value")
        return x

    trace = watched(lambda: grow(tf.constant([1.0, 3.0])), "variable:nothing")
    series = only(trace, "doubled", "point")
    assert [series.value(look).tolist() for look in range(4)] == [[2, 6], [4, 12], [8, 24], [16, 48]]  # type: ignore[union-attr]
    assert series.rows["iteration"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("name", KERASES)
def test_keras_fit(watched: Callable[..., Trace], name: str) -> None:
    keras = kerases.load(name)
    layers = [keras.layers.Dense(5, name="first"), keras.layers.Dense(1, name="last")]
    model = keras.Sequential([keras.Input([4]), *layers])
    model.compile(keras.optimizers.Adam(0.1), "mse", jit_compile=False)
    after: list[Any] = []
    keep = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: after.append(model.get_weights()[0]))
    selected = ["first/kernel", "gradient:first/kernel", "update:first/kernel"]
    trace = watched(
        lambda: model.fit(X, X[:, :1], batch_size=2, epochs=2, verbose=0, callbacks=[keep]), selected, every=2
    )
    kinds = {series.kind: series for series in trace.watched("first/kernel") if "dam" not in series.name}
    assert {"variable", "gradient", "update"} <= set(kinds)
    assert kinds["variable"].steps.tolist() == [0, 2, 4, 6]
    agree(kinds["variable"], after[::2])
    assert len(kinds["gradient"]) == 4 and (kinds["gradient"].norm > 0).all()
    assert np.isfinite(kinds["update"].ratio).all() and (kinds["update"].ratio > 0).all()


def test_the_same_bits(tmp_path: Path) -> None:
    bare, seen = Program(), Program()
    bare.function(4)
    with (
        tensorsleuth.record(tmp_path),
        tensorsleuth.watch([".*", "gradient:.*", "update:.*"], what=("histogram", "value")),
    ):
        seen.function(4)
    assert bits(bare.values) == bits(seen.values) and bits(bare.products) == bits(seen.products)


def test_what_is_written_after_the_function_that_trains_counts(watched: Callable[..., Trace]) -> None:
    """A row is written when that comes back; where the variable is written again in the step, the last one stands."""
    weight = tf.Variable(4.0, name="late/weight")

    @tf.function
    def step() -> None:
        with tf.GradientTape() as tape:
            loss = weight * weight
        weight.assign_sub(0.25 * tape.gradient(loss, weight))

    def run() -> None:
        for number in range(4):
            step()
            if number % 2:
                weight.assign(10.0)

    trace = watched(run, "variable:late/weight", what=("scalar", "norm"))
    (series,) = trace.watched("late/weight")
    assert series.steps.tolist() == [0, 1, 2, 3] and series.scalar.tolist() == [2.0, 10.0, 5.0, 10.0]
    assert series.ratio.tolist() == [0.5, 4.0, 0.5, 1.0]


def test_a_data_set_from_before_is_looked_at_as_before(tmp_path: Path) -> None:
    """What is recorded of it anyway does not end with what is watched, however often that changes."""
    with tensorsleuth.record(tmp_path) as recording:
        data = tf.data.Dataset.range(4).map(lambda i: tf.math.log(tf.cast(i, tf.float32) - 1.0) * 2.0)
        watches = [tensorsleuth.watch(selector) for selector in ("variable:a", "variable:b", "variable:c")]
        _ = [float(value) for value in data]
        for watch in watches:
            watch.remove()
    assert recording.path is not None
    assert "Log" in {one.op.type for one in tensorsleuth.open(recording.path).tensors(bad=True)}


def test_alone_it_records_lightly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLEUTH_LOGDIR", str(tmp_path))
    program = Program()
    with tensorsleuth.watch("gradient:.*kernel"):
        program.function(3)
    trace = tensorsleuth.open(None, str(tmp_path))
    agree(only(trace), program.gradients)
    assert trace.meta["ended"] and not (trace.events["flags"] & 1).any()


def test_a_recording_takes_the_place_of_the_light_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLEUTH_LOGDIR", str(tmp_path / "light"))
    program = Program()
    with tensorsleuth.watch("encoder/dense/kernel"), tensorsleuth.record(tmp_path / "full") as recording:
        program.function(3)
    assert recording.path is not None
    agree(only(tensorsleuth.open(recording.path)), program.values[1:])


def test_two_that_watch_the_same_get_what_both_ask_for(watched: Callable[..., Trace]) -> None:
    program = Program()

    def action() -> None:
        with tensorsleuth.watch("variable:encoder/.*", every=4, what="value"):
            program.function(5)

    series = only(watched(action, "encoder/dense/kernel", every=2, what="norm"))
    assert series.steps.tolist()[:2] == [0, 2] and series.what == ("norm", "value")


def test_with_break_points_and_the_guard(tmp_path: Path) -> None:
    program, hits = Program(), list[Any]()
    with tensorsleuth.guard(), tensorsleuth.record(tmp_path) as recording:
        watch = tensorsleuth.watch("encoder/dense/kernel")
        with tensorsleuth.break_when("norm > 0", on="op:MatMul", then=hits.append):
            program.function(3)
            watch.remove()
            program.function(2)
        watch.remove()
    assert len(hits) >= 5 and recording.path is not None
    assert only(tensorsleuth.open(recording.path)).steps.tolist()[:3] == [0, 1, 2]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("layers:x",), ["no kind 'layers'", "Did you mean 'layer'?", "update"]),
        (("dense[",), ["'dense['", "not a regular expression", "re.escape"]),
        ((tf.constant(1.0),), ["name the tensors", "name='x'"]),
        (("x", {"every": 0}), ["every is 0", "from 1 on"]),
        (("x", {"what": "histograms"}), ["no 'histograms'", "Did you mean 'histogram'?", "quantiles"]),
    ],
)
def test_wrong_use(arguments: Any, words: list[str]) -> None:
    tensors, *rest = arguments
    with pytest.raises(SleuthError) as error:
        tensorsleuth.watch(tensors, **(rest[0] if rest else {}))
    assert all(word in str(error.value) for word in words), str(error.value)


def test_asking_the_trace(watched: Callable[..., Trace]) -> None:
    trace = watched(lambda: Program().function(2), ["kernel", "gradient:.*"])
    assert len(trace.watched()) == 2 and len(trace.watched("dense")) == 2 and len(trace.watched("nothing")) == 0
    columns = trace.watched(kind="gradient")[0].to_dict()
    assert columns["step"].tolist() == [0, 1] and set(columns["name"]) == {"encoder/dense/kernel"}
    with pytest.raises(SleuthError, match=r"There is no kind 'x'.*gradient"):
        trace.watched(kind="x")
    with pytest.raises(SleuthError, match="no sample 7"):
        trace.watched()[0].value(7)
