"""What was watched, in TensorBoard, on the page and in the examples of the guide."""

from __future__ import annotations

import json
import re
import runpy
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tests.compat import watchable
from tests.compat.watchable import Program, X, only

import tensorsleuth
from tensorsleuth.live.watch import api as watching
from tensorsleuth.native.numpy_measure import histogram
from tensorsleuth.recording import api
from tensorsleuth.trace.reader import Trace
from tensorsleuth.ui.web.answers import watched as told
from tensorsleuth.ui.web.run.errors import NotFound
from tensorsleuth.ui.web.run.open_run import OpenRun

watched = watchable.watched  # a fixture
ROOT = Path(__file__).parents[2]


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
    after = watched(lambda: Program().function(1), "encoder/dense/kernel")
    assert (after.path / "tensorboard").exists() and len(list(logs.iterdir())) == 2, "that was for the one before"


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
    with pytest.raises(NotFound, match="no such series"):
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
    recording = api.active_recording()
    assert recording is not None  # the compiled function's point began another
    recording.close()


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
