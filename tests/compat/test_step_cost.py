"""What a step costs while it is recorded: counts that do not depend on the machine, so that a cost cannot come back."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests import warm_python
from tests.compat.looking import in_graph, marked
from tests.compat.steady_calls import with_variables

import tensorsleuth
from tensorsleuth.core.replay_outcome import ReplayOutcome
from tensorsleuth.native import loader
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]


def steady_calls(mode: str) -> list[Counter[str]]:
    """Return our Python calls in a step of 2 variables, and in one of 40."""
    done = warm_python.shared().run("-m", "tests.compat.steady_calls", mode, 2, 40, cwd=warm_python.REPOSITORY)
    assert not done.returncode, done.stderr
    return [Counter(one) for one in json.loads(done.stdout)]


@pytest.mark.parametrize(("mode", "most"), [("FULL_HEALTH", 42), ("FLIGHT", 80)])
def test_a_call_takes_few_python_calls_however_many_variables_it_has(mode: str, most: int) -> None:
    few, many = steady_calls(mode)
    assert few == many and few.total() <= most, few


def test_an_array_that_a_dataset_passes_again_and_again_is_read_once(recorded: Recorded) -> None:
    """Keras passes all arrays of a `fit` to the function that takes a batch from them."""
    native, batches = loader.load(), 20
    assert native is not None
    array = np.arange(1 << 17, dtype=np.float32).reshape(-1, 8)

    def program() -> None:
        rows = tf.data.Dataset.range(batches)
        together = tf.data.Dataset.zip((rows, tf.data.Dataset.from_tensors(array).repeat()))
        for _ in together.map(lambda row, whole: tf.gather(whole, row)):
            pass

    before = native.repeated_rows()
    trace = recorded(program)
    assert native.repeated_rows() - before >= batches - 3
    seen = [look.row for look in in_graph(trace, "Argument") if look.row["max"] == array.max()]
    assert len(seen) == batches and all(row["pos"] == array.size - 1 for row in seen)


def test_another_array_at_the_same_place_is_read(recorded: Recorded) -> None:
    """Each element is a new array. Its memory is often that of an element that was dropped."""
    size = 1 << 15

    def program() -> None:
        numbers = tf.data.Dataset.range(40).map(lambda number: tf.fill([size], tf.cast(number, tf.float32)))
        for _ in numbers.map(lambda whole: tf.reduce_sum(whole)):
            pass

    trace = recorded(program)
    largest = [float(look.row["max"]) for look in in_graph(trace, "Argument") if look.row["kind"]]
    assert sorted(largest) == [float(number) for number in range(40)]


# ---- the mode FLIGHT


def test_in_flight_a_plain_function_runs_as_it_is(tmp_path: Path) -> None:
    step = with_variables(3)
    with tensorsleuth.record(tmp_path, mode="FLIGHT") as recording:
        step()
        assert recording.recorder is not None
        functions = recording.recorder.functions
        names = list(functions._untouched)
        assert names and all(functions.watched_copy(name, lambda: None) is None for name in names)


def test_in_flight_variables_are_read_after_some_calls(recorded: Recorded) -> None:
    step, calls = with_variables(3), 200
    trace = recorded(lambda: [step() for _ in range(calls)], mode="FLIGHT")
    reads = [op for op in trace.processes[0].catalogue.eager.values() if op.type == "ReadVariableOp"]
    rows = trace.events[np.isin(trace.events["tensor"], [op.first_tensor for op in reads])]
    # The first 8 calls, every 8th up to the 64th, every 32nd later, and the last.
    assert len(rows) <= 3 * (8 + 7 + 4 + 1)


def written_late(bad_at: int) -> None:
    """One call makes a weight infinite, and nothing that a function returns shows it."""
    weight = tf.Variable(1.0)

    @tf.function
    def step(x: Any) -> Any:
        weight.assign_add(tf.math.log(x))  # into the weight
        return x

    for number in range(30):
        step(tf.constant(0.0 if number == bad_at else 1.0))


@pytest.mark.parametrize("bad_at", [18, 24, 28])  # after 28 no reading would follow, but the recording ends
def test_in_flight_a_bad_weight_is_led_back_to_the_call_that_wrote_it(recorded: Recorded, bad_at: int) -> None:
    trace = recorded(lambda: written_late(bad_at), mode="FLIGHT")
    outcomes = [replay.outcome for replay in trace.processes[0].catalogue.replays.values()]
    assert outcomes and set(outcomes) == {ReplayOutcome.AGAIN}
    found = tensorsleuth.diagnose(trace).findings[0]
    assert (found.cause, found.line) == ("log-zero", marked("into the weight"))
    assert len([look for look in in_graph(trace, "Log") if look.bad]) == 1
