"""Whatever stands in the files of what was watched: it is read, or said to be damaged."""

from __future__ import annotations

import contextlib
import ctypes
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.test_trace_fuzz import FUZZ, changed, changes

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.layout.rows import EventKind, MeasureFlag
from tensorsleuth.native.loader import RowPlace, SessionPlan, TensorView, trace_paths
from tensorsleuth.trace.reader import Trace
from tensorsleuth.trace.storage import journal, synthetic
from tensorsleuth.ui.web.answers import watched as told
from tensorsleuth.ui.web.run.open_run import OpenRun

FILES = ("watched.bin", "watched_value_rows.bin", "watched_values.bin")
LOOKS = 30


@pytest.fixture(scope="session")
def watched_run(tmp_path_factory: pytest.TempPathFactory, recorder: ctypes.CDLL) -> Path:
    """A run that was killed while it watched one thing, for all that there is."""
    run = synthetic.write(tmp_path_factory.mktemp("runs") / "watched", 50, bad=0)
    (folder,) = run.glob("p-*")
    scratch = tmp_path_factory.mktemp("scratch")
    assert recorder.sleuth_open(ctypes.byref(SessionPlan(*trace_paths(scratch), 1, 512, 5, 1, 512, 5, 0))) == 0
    paths = [str(scratch / name).encode() for name in FILES]
    assert recorder.sleuth_watch_open(*paths, 512, *(ctypes.c_uint64(n) for n in (4, 256 << 20))) == 0
    recorder.sleuth_watch_activate(1)
    recorder.sleuth_watch_set(1, ctypes.c_int64(1), int(MeasureFlag.EXACT) - 1)
    values = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)
    view = TensorView(values.ctypes.data, values.size, values.nbytes, 1, 2)
    view.dims[:2] = values.shape
    for _ in range(LOOKS):
        recorder.sleuth_watch_saw(1, ctypes.byref(view), ctypes.byref(RowPlace(1, 0, 0, 0, EventKind.EAGER)))
    for name in ("shapes.bin", *FILES):
        shutil.copy(scratch / name, folder)
    recorder.sleuth_close()
    catalog = journal.Journal(folder / "catalog.journal", 1 << 24)
    catalog.append("series", {"id": 1, "kind": "point", "name": "x", "file": None, "line": None})
    catalog.append("log", {"time": 1.0, "step": 2, "message": "hello", "file": "a.py", "line": 3})
    catalog.close()
    return run


def examine(run: Path) -> Trace:
    trace = Trace(run)
    for series in trace.watched():
        assert len(series.steps) == len(series.norm) == len(series.edges) == len(series.ratio)
        assert {len(column) for column in series.to_dict().values()} == {len(series)} and repr(series)
        for look in (0, -1):
            series.value(look), series.image(look), series.texts(look)
    opened = OpenRun(run)
    for item in told.answer(opened, {})["items"]:
        json.dumps(told.answer_series(opened, {"series": item["id"]}), allow_nan=False)
    json.dumps(told.answer_logs(opened, {}), allow_nan=False)
    assert all(isinstance(line, str) and line for line in trace.trouble)
    return trace


def test_a_sound_one_is_read_whole(watched_run: Path) -> None:
    trace = examine(watched_run)
    (series,) = trace.watched()
    assert len(series) == LOOKS and trace.trouble == [] and str(trace.logs()[0]) == "hello"
    value = series.value()
    assert value is not None and series.norm[0] == pytest.approx(float(np.linalg.norm(value.astype(np.float64))))


@FUZZ
@given(name=st.sampled_from((*FILES, "catalog.journal")), change=changes())
def test_any_change_to_any_file(
    watched_run: Path, tmp_path_factory: pytest.TempPathFactory, name: str, change: Callable[[bytearray], None]
) -> None:
    run = changed(watched_run, tmp_path_factory.mktemp("changed") / "run", name, change)
    with contextlib.suppress(SleuthError):  # refused in words
        examine(run)
    shutil.rmtree(run.parent)


def test_a_file_that_cannot_be_read_is_said(watched_run: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(watched_run, tmp_path / "run"))
    (path,) = run.glob("p-*/watched.bin")
    path.write_bytes(b"not ours")
    trace = Trace(run)
    assert trace.watched() == [] and any("watched.bin" in line for line in trace.trouble)
