"""What a thread has begun can be read while it is under way, with its line, and is over when it is over."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import tensorsleuth
from tensorsleuth.core.run_end import RunningOp
from tensorsleuth.diagnose.exits.thread_activity import ThreadActivity
from tensorsleuth.recording.tensorflow.op_outputs import count_outputs
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.process.thread_slots import ThreadState, threads_of

HERE = Path(__file__)


class Looker:
    """Looks at what the recording says of its own process, in the middle of an op."""

    def __init__(self, recording: Any) -> None:
        (self._folder,) = recording.path.glob("p-*")
        self.seen: list[list[RunningOp]] = []

    def states(self) -> list[ThreadState]:
        return threads_of(ProcessTrace(self._folder))

    def look(self, x: Any) -> Any:
        self.seen.append(list(ThreadActivity(ProcessTrace(self._folder), 0, in_python=True).running_ops))
        return x


def line_of(mark: str) -> int:
    lines = HERE.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"# {mark}"))


def under_way(seen: list[RunningOp]) -> list[tuple[str, int | None]]:
    return [(one.op, one.line) for one in seen if not one.ended]


def test_op_inside_of_a_function(tmp_path: Path) -> None:
    with tensorsleuth.record(tmp_path) as recording:
        looker = Looker(recording)

        @tf.function
        def step(x: Any) -> Any:
            hidden = tf.nn.relu(tf.matmul(x, x) + 1.0)
            seen = tf.py_function(looker.look, [hidden], tf.float32)  # LOOKS
            return tf.reduce_sum(tf.exp(seen) * 2.0)

        for _ in range(2):
            step(tf.ones([3, 3]))  # CALLS
        after = looker.states()
    for seen in looker.seen:
        (main,) = [one for one in seen if one.line == line_of("CALLS")]
        assert (main.op, main.ended) == ("step", False)
        assert [(one.op, one.line) for one in main.inside] == [("EagerPyFunc", line_of("LOOKS"))]
    assert len(looker.seen) == 2
    assert not any(state.running_ops for state in after)


def test_ops_that_had_all_they_need(tmp_path: Path) -> None:
    """As a hang in native code would be found: nobody says that Python was called."""
    found: list[list[str]] = []
    with tensorsleuth.record(tmp_path) as recording:
        assert recording.path is not None
        (folder,) = recording.path.glob("p-*")

        def look(x: Any) -> Any:
            (main,) = [one for one in ThreadActivity(ProcessTrace(folder), 0).running_ops if not one.ended]
            found.append([one.op for one in main.inside])
            return x

        @tf.function
        def step(x: Any) -> Any:
            before = tf.exp(tf.matmul(x, x) + 1.0)
            seen = tf.py_function(look, [before], tf.float32)
            return tf.reduce_sum(tf.tanh(seen) * tf.sigmoid(before))

        for _ in range(2):
            step(tf.ones([3, 3]))
    assert all(ops[0] == "EagerPyFunc" for ops in found)
    assert not any({"MatMul", "Tanh", "Mul", "Sum"} & set(ops) for ops in found), "done, or not to be done yet"


def test_eager_op_at_a_new_place(tmp_path: Path) -> None:
    with tensorsleuth.record(tmp_path) as recording:
        looker = Looker(recording)
        tf.py_function(looker.look, [tf.ones([2])], tf.float32)  # EAGER
        after = looker.states()
    assert ("EagerPyFunc", line_of("EAGER")) in under_way(looker.seen[0])
    assert not any(state.running_ops for state in after)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_raised_is_over(tmp_path: Path, error: type[BaseException]) -> None:
    def fail(x: Any) -> Any:
        raise error("no")

    @tf.function
    def step(x: Any) -> Any:
        return tf.py_function(fail, [x * 2.0], tf.float32)

    with tensorsleuth.record(tmp_path) as recording:
        looker = Looker(recording)
        with pytest.raises((tf.errors.OpError, error)):
            step(tf.ones([2]))
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.reshape(tf.ones([2]), [3])
        assert not any(state.running_ops for state in looker.states())


def test_each_thread_has_its_own(tmp_path: Path) -> None:
    with tensorsleuth.record(tmp_path) as recording:
        looker = Looker(recording)
        tf.ones([2])
        thread = threading.Thread(target=lambda: tf.py_function(looker.look, [tf.ones([2])], tf.float32))
        thread.start()
        thread.join()
    seen = looker.seen[0]
    assert [one.ended for one in seen if one.thread == "main thread"] == [True]
    assert [one.op for one in seen if not one.ended] == ["EagerPyFunc"]


def test_recording_in_memory_writes_nowhere(tmp_path: Path) -> None:
    with tensorsleuth.guard():
        tf.ones([2]) + 1.0
    assert list(tmp_path.iterdir()) == []


def test_number_of_outputs_before_an_op_has_run() -> None:
    """What TensorFlow hands to its entry points: an op's name, inputs, then names and values of attributes."""
    x = tf.ones([4])
    assert count_outputs("Relu", (None, "Relu", None, x)) == 1
    assert count_outputs("Split", (None, "Split", None, 0, x, "num_split", 2)) == 2
    assert count_outputs("EagerPyFunc", (None, "EagerPyFunc", None, [x], "token", b"t", "Tout", [1, 1])) == 2
    assert count_outputs("Split", (None, "Split", None, 0, x)) is None
    assert count_outputs("Relu", (None, "/cpu", b"Relu", [x], ("T", 1), 1)) == 1
    assert count_outputs("NoSuchOp", (None, "NoSuchOp", None, x)) is None


def test_uncaught_exception_is_not_one_of_a_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    from tensorsleuth.recording.uncaught_exceptions import uncaught_exception

    error = ValueError("no")
    monkeypatch.setattr(sys, "last_value", error, raising=False)
    monkeypatch.setattr(sys, "last_exc", error, raising=False)
    assert uncaught_exception() is error
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    assert uncaught_exception() is None
