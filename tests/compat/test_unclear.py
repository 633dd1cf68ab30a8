"""A run without findings is healthy only if what matters was seen; otherwise it is unclear, and says what was not."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tensorsleuth
from tensorsleuth.core.finding import Diagnosis
from tensorsleuth.diagnose.doubts import LENGTH_FLAG
from tensorsleuth.diagnose.training.undecided_loss import undecided_training
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
v1 = tf.compat.v1
BATCH = np.array([0.0, 1.0], np.float32)


def diagnosis(trace: Trace) -> Diagnosis:
    return tensorsleuth.diagnose(trace)


def smallest_above(x: Any, bound: float) -> Any:
    return tf.reduce_min(tf.where(x > bound, x, np.inf))


def read_from_function() -> None:
    print(float(tf.function(smallest_above)(tf.constant(BATCH), 5.0)))  # got


def read_eager_value() -> None:
    smallest_above(BATCH, 5.0).numpy()  # got


def fetch_from_session() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [2])
        session.run(smallest_above(x, 5.0), {x: BATCH})  # got


def read_data_with_holes() -> None:
    for element in tf.data.Dataset.from_tensor_slices(np.array([1.0, np.nan], np.float32)):
        float(element)  # got


def give_to_python() -> None:
    @tf.function
    def step(x: Any) -> Any:
        tf.numpy_function(lambda value: None, [tf.reduce_sum(tf.math.log(x))], [])  # got
        return x

    step(tf.constant(BATCH))


def read_as_array() -> None:
    np.asarray(smallest_above(BATCH, 5.0))  # got


def read_by_array_method() -> None:
    smallest_above(BATCH, 5.0).__array__()  # got


def read_in_numpy() -> None:
    np.mean(smallest_above(BATCH, 5.0))  # got


def read_memory() -> None:
    memoryview(tf.fill([4096], np.float32(np.inf))[:2000])  # got


GETS = [read_from_function, read_eager_value, fetch_from_session, read_data_with_holes, give_to_python]
GETS += [read_as_array, read_by_array_method, read_in_numpy, read_memory]


@pytest.mark.parametrize("program", GETS, ids=lambda one: one.__name__)
def test_a_bad_number_that_python_gets_and_nothing_explains(recorded: Recorded, program: Callable[[], Any]) -> None:
    found = diagnosis(recorded(program))
    lines = [number for number in _lines_of(program) if f"test_unclear.py:{number}," in found.unclear[0].what]
    assert found.verdict == "unknown" and not found.findings and found.unjudged is None
    assert lines and (found.unclear[0].command or "").startswith("sleuth debug ")


def test_a_large_array_from_before_the_recording_is_looked_at_when_python_reads_it(recorded: Recorded) -> None:
    before = tf.fill([4096], np.float32(np.nan))
    for read in (np.asarray, type(before).numpy):
        found = diagnosis(recorded(lambda read=read: (tf.ones([2]) + 1.0, read(before))))
        assert "Python got a NaN" in found.unclear[0].what


def test_code_of_ours_that_reads_a_bad_tensor_is_not_the_program(recorded: Recorded) -> None:
    from tensorsleuth.live.watch.table import row_of

    def program() -> None:
        nan = tf.reduce_min(tf.where(tf.constant(BATCH) > 5.0, BATCH, np.inf))
        row_of("nan", nan)

    assert diagnosis(recorded(program)).verdict == "healthy"


@pytest.mark.parametrize("writes", [True, False])
def test_a_function_that_is_not_covered_is_a_doubt_only_if_it_writes_variables(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch, writes: bool
) -> None:
    from tensorsleuth.recording.functions import function_copy

    monkeypatch.setattr(function_copy, "MAX_WATCHED_NODES", -1)
    total = tf.Variable(1.0)

    @tf.function
    def step(x: Any) -> Any:
        if writes:
            total.assign_add(tf.reduce_sum(x))
        return tf.reduce_sum(x)

    found = diagnosis(recorded(lambda: float(step(tf.constant(BATCH)))))
    assert found.verdict == ("unknown" if writes else "healthy"), found
    assert not writes or "the inside of " in found.unclear[0].what


def _lines_of(program: Any) -> list[int]:
    lines, first = inspect.getsourcelines(program)
    return [first + at for at, line in enumerate(lines) if line.rstrip().endswith("# got")]


def test_a_mode_that_examines_no_values(recorded: Recorded) -> None:
    found = diagnosis(recorded(lambda: tf.math.log(tf.constant([0.0])), mode="SHAPE"))
    assert found.verdict == "unknown" and "mode SHAPE records no values" in found.unclear[0].what
    assert (found.unclear[0].command or "").startswith("sleuth run ")


def train(steps: int, rate: float, sign: float = 1.0) -> Callable[[], None]:
    def program() -> None:
        weight = tf.Variable([[2.0], [1.0]])
        x = tf.constant(np.linspace(-1, 1, 16, dtype=np.float32).reshape(8, 2))

        @tf.function
        def step() -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(x @ weight - 3.0))
            weight.assign_sub(rate * sign * tape.gradient(loss, weight))
            return loss

        for _ in range(steps):
            step()

    return program


def test_a_loss_that_does_not_move_in_too_few_steps(recorded: Recorded) -> None:
    found = diagnosis(recorded(train(6, 0.0)))
    assert found.verdict == "unknown"
    assert found.unclear[0].command is None and "number of its epochs or steps" in found.unclear[0].what
    assert "the loss did not move" in found.unclear[0].what and "6 steps are too few" in found.unclear[0].what


def test_a_loss_that_rises_in_too_few_steps(recorded: Recorded) -> None:
    trace = recorded(train(12, 0.1, sign=-1.0))
    found = diagnosis(trace)
    assert found.verdict == "unknown" and "the loss rose from" in found.unclear[0].what
    assert undecided_training(trace.processes[0]) is not None
    assert undecided_training(trace.processes[0], {"no-warmup"}) is None  # a note that says why it rises


@pytest.mark.parametrize(("steps", "rate"), [(1, 0.1), (3, 0.1), (3, 0.0), (24, 0.1), (12, 1e-6)])
def test_short_training_that_leaves_nothing_open_is_healthy(recorded: Recorded, steps: int, rate: float) -> None:
    found = diagnosis(recorded(train(steps, rate)))
    assert (found.verdict, found.unclear) == ("healthy", ())


def test_a_loss_that_is_zero_has_nothing_to_learn(recorded: Recorded) -> None:
    weight = tf.Variable(0.0)

    @tf.function
    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(weight * BATCH))
        weight.assign_sub(tape.gradient(loss, weight))
        return loss

    assert diagnosis(recorded(lambda: [step() for _ in range(6)])).verdict == "healthy"


def test_a_bad_value_whose_row_is_overwritten(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    from tensorsleuth.trace.process.process import ProcessTrace

    trace = recorded(lambda: tf.nn.softmax(tf.constant([1.0, -np.inf])).numpy())
    assert diagnosis(trace).verdict == "healthy"
    monkeypatch.setattr(ProcessTrace, "lost_events", property(lambda self: 1200))
    monkeypatch.setattr(ProcessTrace, "bad_rows", lambda self: iter(()))
    found = diagnosis(trace)
    assert found.verdict == "unknown" and "overwritten later, with 1,200 rows" in found.unclear[0].what
    assert "--circular-buffer-size 0" in (found.unclear[0].command or "")


def test_a_part_that_cannot_be_read(recorded: Recorded) -> None:
    trace = recorded(lambda: tf.reduce_sum(BATCH).numpy())
    assert diagnosis(trace).verdict == "healthy"
    journal = next(trace.path.glob("p-*/catalog.journal"))
    data = bytearray(journal.read_bytes())
    data[len(data) // 2] ^= 0xFF
    journal.write_bytes(data)
    found = diagnosis(tensorsleuth.open(trace.path))
    assert found.verdict == "unknown" and "part of the recording cannot be read" in found.unclear[0].what


@pytest.mark.parametrize(
    ("arguments", "flag"),
    [
        ("train.py --steps 50", "--steps 50"),
        ("train.py --max_iters=8 -v", "--max_iters=8"),
        ("train.py --num-epochs 3", "--num-epochs 3"),
        ("steps.py 3", None),
        ("train.py --step-size 0.1", None),
    ],
)
def test_the_argument_that_says_how_long_a_program_trains(arguments: str, flag: str | None) -> None:
    found = LENGTH_FLAG.search(arguments)
    assert (found.group() if found is not None else None) == flag
