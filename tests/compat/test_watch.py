"""watch: every kind of tensor and of measure, in eager code, functions, loops and Keras; the numbers are NumPy's."""

from __future__ import annotations

import json
import os
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tests.compat import kerases
from tests.compat.kerases import KERASES
from tests.compat.looking import bits, marked

import tensorsleuth
from tensorsleuth.capture import api
from tensorsleuth.model.bins import bin_edges
from tensorsleuth.model.errors import SleuthError
from tensorsleuth.model.rows import QUANTILES
from tensorsleuth.native.measure_twin import histogram
from tensorsleuth.page.answers import watched as told
from tensorsleuth.page.errors import NoSuchThing
from tensorsleuth.page.opened import OpenRun
from tensorsleuth.trace.reader import Trace
from tensorsleuth.trace.watched import WatchedSeries
from tensorsleuth.watching import api as watching

ROOT = Path(__file__).parents[2]
HERE = os.path.basename(__file__)
X = np.random.default_rng(1).normal(size=(8, 4)).astype(np.float32)


class Program:
    """A little training program that writes down what it computed."""

    def __init__(self) -> None:
        self.weights = tf.Variable(np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3), name="encoder/dense/kernel")
        self.values: list[Any] = [self.weights.numpy()]
        self.gradients: list[Any] = []
        self.products: list[Any] = []

    def step(self, x: Any) -> Any:
        with tf.GradientTape() as tape:
            with tf.name_scope("encoder"):
                y = tf.matmul(x, self.weights)
            loss = tf.reduce_sum(y * y)
        gradient = tape.gradient(loss, self.weights)
        self.weights.assign_sub(0.001 * gradient)
        return y, gradient

    def eager(self, steps: int) -> None:
        for _ in range(steps):
            self._note(*self.step(tf.constant(X)))

    def function(self, steps: int, **options: Any) -> None:
        step = tf.function(self.step, **options)
        for _ in range(steps):
            self._note(*step(tf.constant(X)))

    def compiled(self, steps: int) -> None:
        self.function(steps, jit_compile=True)

    def _note(self, y: Any, gradient: Any) -> None:
        self.values.append(self.weights.numpy())
        self.products.append(y.numpy())
        self.gradients.append(gradient.numpy())


WAYS = ("eager", "function", "compiled")


@pytest.fixture
def watched(tmp_path: Path) -> Callable[..., Trace]:
    """Runs something under a light recording while it is watched, and returns the trace."""

    def run(action: Callable[[], Any], tensors: Any, mode: str = "CURT_HEALTH", **asked: Any) -> Trace:
        with tensorsleuth.record(tmp_path / "runs", mode=mode) as recording, tensorsleuth.watch(tensors, **asked):
            action()
            recording.close()
        assert recording.path is not None
        trace = tensorsleuth.open(recording.path)
        assert trace.trouble == []
        return trace

    return run


def only(trace: Trace, *which: str) -> WatchedSeries:
    found = trace.watched(*which)
    assert len(found) == 1, found
    return found[0]


def agree(series: WatchedSeries, arrays: list[Any], rtol: float = 1e-12) -> None:
    """The numbers of each look are those of the array."""
    wide = [np.asarray(array, np.float64) for array in arrays]
    assert len(series) == len(arrays)
    np.testing.assert_allclose(series.norm, [np.linalg.norm(array) for array in wide], rtol=rtol)
    np.testing.assert_allclose(series.mean, [array.mean() for array in wide], rtol=1e-6, atol=1e-9)
    for number, array in enumerate(wide):
        assert series.rows["min"][number] == array.min() and series.rows["max"][number] == array.max()
        assert series.histogram[number].tolist() == histogram(array.reshape(-1)).tolist()
        assert series.edges[number].tolist() == bin_edges(array.min(), array.max()).tolist()


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
        "watch does not see the inside of step: it is compiled by XLA; its variables it does, after each step." in said
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


@pytest.mark.parametrize("way", ["eager", "function", "compiled"])
def test_a_point_in_the_code(watched: Callable[..., Trace], way: str) -> None:
    program, losses = Program(), []

    def step(x: Any) -> Any:
        y, gradient = program.step(x)
        loss = tf.reduce_sum(y)
        assert tensorsleuth.watch(loss, name="loss", every=2) is loss  # POINT
        tensorsleuth.watch(y, name="wide", what=("quantiles", "value"))
        return y, gradient, loss

    run = step if way == "eager" else tf.function(step, jit_compile=way == "compiled")

    def action() -> None:
        for _ in range(5):
            y, gradient, loss = run(tf.constant(X))
            program._note(y, gradient)
            losses.append(float(loss))

    trace = watched(action, "variable:nothing")
    loss = only(trace, "loss")
    assert (loss.kind, loss.steps.tolist()) == ("point", [0, 2, 4])
    assert loss.scalar.tolist() == losses[::2]
    assert (os.path.basename(str(loss.file)), loss.line) == (HERE, marked("POINT"))
    wide = only(trace, "wide")
    for number, product in enumerate(program.products):
        assert np.array_equal(wide.value(number), product)  # type: ignore[arg-type]
        found = [wide.quantiles[at][number] for at in QUANTILES]
        np.testing.assert_allclose(found, np.quantile(product.astype(np.float64), QUANTILES), rtol=1e-6)


def test_a_compiled_point_of_unknown_shape(watched: Callable[..., Trace]) -> None:
    @tf.function(jit_compile=True, input_signature=[tf.TensorSpec([None], tf.float32)])
    def double(x: Any) -> Any:
        return tensorsleuth.watch(x * 2.0, name="any", what="value")

    def action() -> None:
        for size in (2, 5, 3):
            double(tf.range(size, dtype=tf.float32))

    series = only(watched(action, "variable:nothing"), "any")
    assert [len(series.value(look)) for look in range(3)] == [2, 5, 3]  # type: ignore[arg-type]


def test_what_is_not_finite_is_counted(watched: Callable[..., Trace]) -> None:
    def action() -> None:
        tensorsleuth.watch(tf.constant([1.0, np.nan, np.inf, -np.inf, 3.0]), name="bad")
        for value in (np.nan, np.inf, -np.inf, 2.0):
            tensorsleuth.watch(tf.constant(value), name="one")

    trace = watched(action, "variable:nothing")
    row = only(trace, "bad").rows[0]
    assert (row["nan"], row["pos_inf"], row["neg_inf"], row["elements"]) == (1, 1, 1, 5)
    assert (row["min"], row["max"], row["sum"]) == (1.0, 3.0, 4.0) and row["bins"].sum() == 2
    np.testing.assert_array_equal(only(trace, "one").scalar, [np.nan, np.inf, -np.inf, 2.0])


@pytest.mark.parametrize("in_graph", [False, True])
def test_texts(watched: Callable[..., Trace], in_graph: bool) -> None:
    words = ["short", "ein längerer Text, der nicht in 23 Bytes passt", ""]

    def say(texts: Any) -> Any:
        return tensorsleuth.watch(tf.strings.upper(texts) if in_graph else texts, name="words")

    run = tf.function(say) if in_graph else say
    series = only(watched(lambda: run(tf.constant(words)), "variable:nothing"), "words")
    expected = [word.encode().upper().decode() for word in words] if in_graph else words
    assert series.what == ("text",) and series.texts() == expected


def test_images_are_kept_and_drawn(watched: Callable[..., Trace], tmp_path: Path) -> None:
    pixels = np.random.default_rng(3).integers(0, 256, (6, 5, 7, 3), np.uint8)

    def action() -> None:
        tensorsleuth.watch(tf.constant(pixels), name="batch", what="image")
        tensorsleuth.watch(tf.constant(pixels[0, :, :, 0] / 255.0), name="grey", what="image")

    trace = watched(action, "variable:nothing")
    assert np.array_equal(only(trace, "batch").image(), pixels[:4])  # type: ignore[arg-type]
    grey = only(trace, "grey").image()
    assert grey is not None and grey.shape == (1, 5, 7, 1)
    shown = events_in(trace.path / "tensorboard").Images("batch/image/1")[0]
    assert np.array_equal(tf.io.decode_png(shown.encoded_image_string).numpy(), pixels[1])


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
        ((tf.constant(1.0),), ["say which tensors", "name='x'"]),
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
    with pytest.raises(SleuthError, match="no look 7"):
        trace.watched()[0].value(7)


def events_in(folder: Path) -> EventAccumulator:
    events = EventAccumulator(str(folder), size_guidance={"images": 0, "histograms": 0, "scalars": 0, "tensors": 0})
    events.Reload()
    return events


def test_event_files_are_read_by_tensorboard(watched: Callable[..., Trace]) -> None:
    program = Program()

    def action() -> None:
        program.function(6)
        tensorsleuth.watch(tf.constant(["so", "so"]), name="words")
        tensorsleuth.watch(tf.constant(2.5), name="rate")

    trace = watched(action, ["encoder/dense/kernel", "gradient:.*"], every=2, what=("norm", "histogram", "quantiles"))
    events = events_in(trace.path / "tensorboard")
    series = only(trace, "encoder/dense/kernel", "variable")
    norms = events.Scalars("norm/encoder/dense/kernel")
    assert [event.step for event in norms] == [0, 2, 4]
    assert [event.value for event in norms] == pytest.approx(series.norm.tolist(), rel=1e-6)
    ratios = events.Scalars("update_ratio/encoder/dense/kernel")
    assert [event.value for event in ratios] == pytest.approx(series.ratio.tolist(), rel=1e-6)
    shown = events.Histograms("encoder/dense/kernel")
    assert [event.step for event in shown] == [0, 2, 4]
    for event, value, edges in zip(shown, program.values[1::2], series.edges, strict=True):
        found = event.histogram_value
        assert (found.min, found.max, found.num) == (value.min(), value.max(), value.size)
        assert found.sum_squares == pytest.approx(float((value.astype(np.float64) ** 2).sum()))
        assert list(found.bucket) == histogram(value.reshape(-1)).tolist()
        assert list(found.bucket_limit) == edges[1:].tolist()
    assert "gradient/encoder/dense/kernel" in events.Tags()["histograms"]
    median = events.Scalars("quantiles/encoder/dense/kernel/0.5")[0].value
    assert median == pytest.approx(float(np.median(program.values[1])), abs=1e-6)
    assert [event.value for event in events.Scalars("rate")] == [2.5]
    text = events.Tensors("words")[0].tensor_proto
    assert list(text.string_val) == [b"so", b"so"]
    assert events.SummaryMetadata("words").plugin_data.plugin_name == "text"


def test_event_files_beside_those_of_the_program(watched: Callable[..., Trace], tmp_path: Path) -> None:
    logs = tmp_path / "logs"

    def action() -> None:
        program, writer = Program(), tf.summary.create_file_writer(str(logs))
        with writer.as_default():
            for step in range(3):
                program.function(1)
                tf.summary.scalar("own", float(step), step=step)
        writer.close()

    trace = watched(action, "encoder/dense/kernel", logdir=logs)
    assert not (trace.path / "tensorboard").exists() and len(list(logs.iterdir())) == 2
    events = events_in(logs)
    assert [event.step for event in events.Tensors("own")] == [0, 1, 2]
    assert [event.step for event in events.Scalars("norm/encoder/dense/kernel")] == [0, 1, 2]


def test_what_the_page_is_told(watched: Callable[..., Trace]) -> None:
    program = Program()

    def action() -> None:
        program.function(50)
        tensorsleuth.watch(tf.constant(X[:3, :3]), name="picture", what="image")

    trace = watched(action, ["encoder/dense/kernel", "gradient:.*"])
    opened = OpenRun(trace.path)
    listed = told.answer(opened, {})["items"]
    ids = {(one["kind"], one["name"]): one["id"] for one in listed}
    assert [one["looks"] for one in listed if one["kind"] != "point"] == [50, 50]
    series = told.answer_series(opened, {"series": ids["variable", "encoder/dense/kernel"], "points": "10"})
    assert len(series["step"]) == 10 and (series["step"][0], series["step"][-1]) == (0, 49)
    assert series["norm"][-1] == pytest.approx(float(np.linalg.norm(program.values[50].astype(np.float64))))
    assert len(series["ridges"]) == 40 and sum(series["ridges"][-1]["bins"]) == 12
    assert series["ridges"][-1]["max"] == program.values[50].max() and series["scalar"][0] is None
    picture = told.answer_series(opened, {"series": ids["point", "picture"]})["images"]
    assert len(picture) == 1 and picture[0].startswith("data:image/png;base64,")
    with pytest.raises(NoSuchThing, match="no such series"):
        told.answer_series(opened, {"series": "9.9"})
    json.dumps(series)


@pytest.mark.filterwarnings("ignore")
def test_the_examples_of_the_guide_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "watch.md").read_text(), re.S)
    assert len(blocks) == 3
    program = tmp_path / "guide.py"
    program.write_text("\n".join(blocks))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLEUTH_LOGDIR", raising=False)
    runpy.run_path(str(program), run_name="__main__")
    out, err = capfd.readouterr()
    assert err.count("loss ") == 20 and err.count("i is 2 (the last of 3 times in compiled code)") == 1
    assert "variable encoder/dense/kernel ('norm', 'histogram', 'value') [ 0 10]" in out
    assert "(2, 64) (2, 65)" in out and "update encoder/dense/kernel" in out and "tensor MatMul" in out
    watching._watches._all.clear()
    recording = api.under_way()
    assert recording is not None  # the compiled function's point began another
    recording.close()
