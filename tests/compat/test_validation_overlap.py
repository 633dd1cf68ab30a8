"""Samples of validation that a real `fit` trains on: all rows of all steps are compared, and counted exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat import kerases
from tests.compat.kerases import KERASES
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
WORDS, WIDTH, TRAINED, HELD, LEAKED = 400, 20, 2048, 500, 50


def texts(seed: int, many: int) -> Any:
    """Rows of many lengths, padded at their ends; none is there twice."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(1, WORDS, (many, WIDTH))
    ids[np.arange(WIDTH)[None] >= rng.integers(8, WIDTH + 1, many)[:, None]] = 0
    return ids.astype(np.int32)


def leaked(trained: Any, held: Any, many: int) -> Any:
    """Some rows of training, at random places among those that are held out."""
    rng = np.random.default_rng(5)
    found = held.copy()
    found[rng.permutation(len(held))[:many]] = trained[rng.permutation(len(trained))[:many]]
    return found


def model(keras: Any, compiled: bool = False, at_once: int = 1) -> Any:
    made = keras.Sequential(
        [keras.layers.Embedding(WORDS, 4), keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(2)]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    made.compile("sgd", loss, jit_compile=compiled, steps_per_execution=at_once)
    return made


def labels(ids: Any) -> Any:
    return (ids[:, 0] % 2).astype(np.int32)


def overlaps(trace: Trace) -> list[tuple[str, int | None]]:
    found = tensorsleuth.diagnose(trace)
    return [(one.summary, one.line) for one in (*found.findings, *found.notes) if one.cause == "overlap"]


@pytest.mark.parametrize(("compiled", "at_once"), [(False, 1), (True, 1), (False, 4)])
@pytest.mark.parametrize("name", KERASES)
def test_a_tenth_of_validation_is_trained_on(recorded: Recorded, name: str, compiled: bool, at_once: int) -> None:
    trained = texts(1, TRAINED)
    held = leaked(trained, texts(2, HELD), LEAKED)
    net = model(kerases.load(name), compiled, at_once)

    def fit() -> None:
        net.fit(trained, labels(trained), validation_data=(held, labels(held)), epochs=2, batch_size=64, verbose=0)  # f

    ((summary, line),) = overlaps(recorded(fit))
    assert f"{LEAKED} of the {HELD} rows of validation are among the {TRAINED:,} rows of training (x)" in summary
    assert line == marked("f")


@pytest.mark.parametrize("name", KERASES)
def test_none_is(recorded: Recorded, name: str) -> None:
    trained, held = texts(1, TRAINED), texts(2, HELD)
    net = model(kerases.load(name))

    def train() -> None:
        net.fit(trained, labels(trained), validation_data=(held, labels(held)), epochs=2, batch_size=64, verbose=0)
        net.evaluate(trained, labels(trained), verbose=0)  # which may be meant
        net.predict(trained, verbose=0)

    assert overlaps(recorded(train)) == []


def test_batches_that_are_padded_to_their_longest_row(recorded: Recorded) -> None:
    """The same text has another width in another batch."""
    trained = texts(1, TRAINED)
    held = leaked(trained, texts(2, HELD), LEAKED)

    def batched(ids: Any) -> Any:
        rows = tf.data.Dataset.from_generator(
            lambda: ((row[row > 0], row[0] % 2) for row in ids),
            output_signature=(tf.TensorSpec([None], tf.int32), tf.TensorSpec([], tf.int32)),
        )
        return rows.padded_batch(16, ([None], [])).apply(tf.data.experimental.assert_cardinality(-(-len(ids) // 16)))

    net = model(kerases.load("keras"))
    trace = recorded(lambda: net.fit(batched(trained), validation_data=batched(held), shuffle=False, verbose=0))
    ((summary, _),) = overlaps(trace)
    assert f"{LEAKED} of the {HELD} rows of validation are among the {TRAINED:,} rows of training" in summary


def test_folds_of_a_cross_validation_are_healthy(recorded: Recorded) -> None:
    parts = np.split(texts(1, 768), 3)

    def train() -> None:
        for number, held in enumerate(parts):
            trained = np.concatenate([part for at, part in enumerate(parts) if at != number])
            held_out = held, labels(held)
            model(kerases.load("keras")).fit(trained, labels(trained), 64, validation_data=held_out, verbose=0)

    assert overlaps(recorded(train)) == []


def test_the_program_computes_the_same_bits(compared: Callable[..., Trace]) -> None:
    trained = texts(1, 256)
    held = leaked(trained, texts(2, 64), 8)

    def train() -> Any:
        keras = kerases.load("keras")
        keras.utils.set_random_seed(3)
        net = model(keras)
        net.fit(trained, labels(trained), validation_data=(held, labels(held)), epochs=2, batch_size=32, verbose=0)
        return net.get_weights()

    compared(train)


def test_arguments_of_a_function_that_trains_are_kept_row_by_row(recorded: Recorded) -> None:
    from tensorsleuth.trace.series.input_rows import InputRows

    table = tf.Variable(tf.random.stateless_normal([WORDS, 4], seed=[1, 2]))

    @tf.function
    def train_step(ids: Any) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.gather(table, ids) ** 2)
        table.assign_sub(0.1 * tf.convert_to_tensor(tape.gradient(loss, table)))

    batches = np.split(texts(1, 320), 10)
    trace = recorded(lambda: [train_step(tf.constant(ids)) for ids in batches])
    (process,) = trace.processes
    (series,) = trace.inside().inputs
    rows = process.cached(InputRows)
    (fit,) = rows.fits(series.number)
    assert len(rows.samples({series.number: 0}, fit)) == 320
