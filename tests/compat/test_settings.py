"""Each setting does what it says; steps are counted as a person would."""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import looks, only

import tensorsleuth
from tensorsleuth.core.layout.rows import SAMPLE_TIME_SHIFT, EventFlag
from tensorsleuth.core.modes import Mode
from tensorsleuth.recording import api
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
X = tf.constant([1.0, 4.0, 0.0, -1.0])
HEALTH = EventFlag.BAD | EventFlag.LOOKED
FLAGS = {
    "NO_TENSOR": EventFlag(0),
    "SHAPE": EventFlag(0),
    "CURT_HEALTH": HEALTH,
    "CONCISE_HEALTH": HEALTH | EventFlag.COUNTED,
    "FULL_HEALTH": HEALTH | EventFlag.COUNTED | EventFlag.RANGED,
    "FULL_NUMERICS": HEALTH | EventFlag.COUNTED | EventFlag.RANGED | EventFlag.MOMENTS,
    "FULL_TENSOR": HEALTH | EventFlag.COUNTED | EventFlag.RANGED | EventFlag.MOMENTS | EventFlag.VALUE,
    "FLIGHT": HEALTH | EventFlag.COUNTED | EventFlag.RANGED,
}


def log_twice() -> None:
    tf.math.log(X)
    tf.function(lambda x: tf.math.log(x) * 1.5)(X)


@pytest.mark.parametrize("mode", FLAGS)
def test_modes(recorded: Recorded, mode: str) -> None:
    found = looks(recorded(log_twice, mode=mode), "Log")
    assert sorted(look.in_graph for look in found) == [False, True]
    for look in found:
        row = look.row
        assert EventFlag(int(row["flags"]) & ((1 << SAMPLE_TIME_SHIFT) - 1)) == FLAGS[mode]
        assert look.process.shape_of(row) == (None if mode == "NO_TENSOR" else (4,))
        assert row["dtype"] == 1
        if FLAGS[mode] & EventFlag.COUNTED:
            assert (row["neg_inf"], row["nan"], row["pos_inf"], row["first_bad"]) == (1, 1, 0, 2)
        if FLAGS[mode] & EventFlag.RANGED:
            assert (row["zero"], row["pos"], row["min"]) == (1, 1, 0.0)
        if FLAGS[mode] & EventFlag.MOMENTS:
            assert row["mean"] == pytest.approx(np.log(4) / 2) and row["std"] == pytest.approx(np.log(4) / 2)
        assert (look.value is not None) == (mode == "FULL_TENSOR")


def test_every_mode_of_tensorflow_is_there() -> None:
    assert {mode.name for mode in Mode} == set(FLAGS)


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64, tf.float16, tf.bfloat16, tf.complex64, tf.int32, tf.bool])
def test_values_are_the_real_ones(recorded: Recorded, dtype: Any) -> None:
    given = tf.cast([[1.0, 2.0], [3.0, 0.0]], dtype)
    change = tf.math.logical_not if dtype == tf.bool else tf.math.square
    results: list[Any] = []
    trace = recorded(lambda: results.extend([change(given), tf.function(change)(given)]), mode="FULL_TENSOR")
    found = looks(trace, "LogicalNot" if dtype == tf.bool else "Square")
    assert sorted(look.in_graph for look in found) == [False, True]
    for look in found:
        real = results[look.in_graph].numpy()
        value = np.asarray(look.value)
        assert value.shape == real.shape
        if dtype == tf.bfloat16:  # read without TensorFlow's dtype: the value may be the same number in a wider type
            np.testing.assert_array_equal(value.astype(np.float32), real.astype(np.float32))
        else:
            assert value.dtype == real.dtype and value.tobytes() == real.tobytes()


def types_of(trace: Trace) -> set[str]:
    return {look.type for look in looks(trace)}


def mixed() -> None:
    function = tf.function(lambda x: tf.cast(tf.math.log1p(x) + tf.exp(x) * tf.math.log(x), tf.float64) * 3.0)
    function(X)
    tf.cast(tf.math.log1p(tf.exp(X)), tf.float64)


def test_op_regex_matches_types_from_their_start(recorded: Recorded) -> None:
    assert types_of(recorded(mixed, op_regex="Log")) == {"Log", "Log1p"}
    assert types_of(recorded(mixed, op_regex="Log$|Exp")) == {"Log", "Exp"}
    assert types_of(recorded(mixed, op_regex="og")) == set()


@pytest.mark.parametrize("wanted", [["float64"], [tf.float64], (tf.float64,), lambda dtype: dtype == tf.float64])
def test_tensor_dtypes(recorded: Recorded, wanted: Any) -> None:
    trace = recorded(mixed, tensor_dtypes=wanted)
    assert {int(look.row["dtype"]) for look in looks(trace)} == {tf.float64.as_datatype_enum}


def test_circular_buffer_keeps_the_latest(recorded: Recorded) -> None:
    def program() -> None:
        for i in range(20000):
            tf.add(X, float(i))

    trace = recorded(program, circular_buffer_size=1000)
    last = [look.row["max"] for look in looks(trace, "AddV2")]
    assert 1000 <= len(trace.events) < 8000
    assert last[-1] == 19999.0 + 4.0
    assert last == sorted(last)


def test_circular_buffer_keeps_the_window_around_the_first_bad_value(recorded: Recorded) -> None:
    def program() -> None:
        for i in range(6000):
            tf.math.log(X if i == 200 else X + 2.0)

    trace = recorded(program, circular_buffer_size=1000)
    bad = only([look for look in looks(trace, "Log") if look.bad])
    near = [look for look in looks(trace, "Log") if abs(int(look.row["time"]) - int(bad.row["time"])) < 10**9]
    assert len([look for look in near if look.row["time"] < bad.row["time"]]) >= 100
    assert len([look for look in near if look.row["time"] > bad.row["time"]]) >= 100
    assert next(iter(trace.bad())).row["time"] == bad.row["time"]


@pytest.mark.parametrize("size", [0, -1])
def test_no_bound(recorded: Recorded, size: int) -> None:
    def program() -> None:
        for _ in range(6000):
            tf.exp(X)

    assert len(looks(recorded(program, circular_buffer_size=size), "Exp")) == 6000


def test_the_same_settings_again_are_the_same_recording(tmp_path: Path) -> None:
    with tensorsleuth.record(tmp_path, mode="SHAPE", tensor_dtypes=["float32"]) as first:
        assert tensorsleuth.record(str(tmp_path), mode="shape", tensor_dtypes=[tf.float32]) is first


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"mode": "SHAPE"}, ["mode"]),
        ({"circular_buffer_size": 7}, ["circular_buffer_size"]),
        ({"op_regex": "Mat", "tensor_dtypes": ["int32"]}, ["op_regex", "tensor_dtypes"]),
    ],
)
def test_other_settings_are_an_error(tmp_path: Path, changed: dict[str, Any], said: list[str]) -> None:
    names = ("logdir", "mode", "circular_buffer_size", "op_regex", "tensor_dtypes")
    with tensorsleuth.record(tmp_path), pytest.raises(tensorsleuth.SleuthError) as raised:
        tensorsleuth.record(tmp_path, **changed)
    assert [name for name in names if f"{name} is" in str(raised.value)] == said
    with tensorsleuth.record(tmp_path), pytest.raises(tensorsleuth.SleuthError, match="logdir is"):
        tensorsleuth.record(tmp_path / "other")


def test_signature_of_enable_dump_debug_info() -> None:
    theirs = inspect.signature(tf.debugging.experimental.enable_dump_debug_info).parameters
    ours = inspect.signature(tensorsleuth.enable_dump_debug_info).parameters
    assert [*ours] == [*theirs, "logdir"] and ours["logdir"].kind is inspect.Parameter.KEYWORD_ONLY
    assert all(ours[name].default == one.default for name, one in theirs.items() if name != "dump_root")
    assert theirs["circular_buffer_size"].default == 1000


def test_threads_that_record_at_once_make_one_recording(tmp_path: Path) -> None:
    ready, made = threading.Barrier(4), list[tensorsleuth.Recording]()

    def start() -> None:
        ready.wait()
        made.append(tensorsleuth.record(tmp_path))

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert float(tf.exp(0.0)) == 1.0
    tensorsleuth.disable_dump_debug_info()
    assert float(tf.exp(0.0)) == 1.0
    assert len(made) == 4 and len(set(map(id, made))) == 1 and len(list(tmp_path.iterdir())) == 1


def test_another_dump_root_replaces_the_first(tmp_path: Path) -> None:
    first = tensorsleuth.enable_dump_debug_info(str(tmp_path / "a"), "FULL_HEALTH")
    tf.math.log(X)
    second = tensorsleuth.enable_dump_debug_info(str(tmp_path / "b"), "FULL_HEALTH")
    tf.math.exp(X)
    with pytest.raises(ValueError, match="mode is"):
        tensorsleuth.enable_dump_debug_info(str(tmp_path / "c"), "SHAPE")
    tensorsleuth.disable_dump_debug_info()
    for recording, op, other in ((first, "Log", "Exp"), (second, "Exp", "Log")):
        trace = tensorsleuth.open(recording.path)
        assert len(looks(trace, op)) == 1 and not looks(trace, other)


def test_logdir_is_another_name_of_dump_root(tmp_path: Path) -> None:
    with tensorsleuth.enable_dump_debug_info(logdir=str(tmp_path), tensor_debug_mode="FULL_HEALTH") as recording:
        assert recording.path is not None and recording.path.parent == tmp_path
    wrongs: list[dict[str, Any]] = [{}, {"dump_root": "a", "logdir": "b"}]
    for wrong in wrongs:
        with pytest.raises(ValueError, match="dump_root"):
            tensorsleuth.enable_dump_debug_info(**wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"mode": "FULLEST"},
        {"circular_buffer_size": 1.5},
        {"op_regex": "("},
        {"tensor_dtypes": "float32"},
        {"tensor_dtypes": ["float31"]},
        {"inside_every": -1},
    ],
)
def test_a_wrong_argument_is_a_value_error(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))) as raised:
        tensorsleuth.record(tmp_path, **wrong)
    assert isinstance(raised.value, tensorsleuth.SleuthError) and not list(tmp_path.iterdir())


def test_enable_and_disable_dump_debug_info(tmp_path: Path) -> None:
    recording = tensorsleuth.enable_dump_debug_info(str(tmp_path), "FULL_HEALTH", -1, "Log", [tf.float32])
    tf.math.log(X)
    tensorsleuth.disable_dump_debug_info()
    tensorsleuth.disable_dump_debug_info()
    tf.math.log(X)
    assert len(looks(tensorsleuth.open(recording.path))) == 1


def test_a_child_forked_while_a_thread_changes_settings_can_change_them(tmp_path: Path) -> None:
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with api.changing():
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if api.changing().acquire(blocking=False) else 1)  # type: ignore[attr-defined]
    done.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
