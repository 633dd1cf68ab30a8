"""The layer, the epoch and the batch of what rules find: of the ops at the line that they name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat import kerases
from tests.compat.kerases import KERASES

import tensorsleuth
from tensorsleuth.core.finding import Finding
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
random = np.random.default_rng(5)
PIXELS = random.uniform(0, 255, (48, 8)).astype("float32")
LABELS = random.integers(0, 3, 48)
IDS = np.concatenate([random.integers(1, 30, (48, 5)), np.zeros((48, 4), int)], 1).astype("int32")


def found(trace: Trace, cause: str) -> Finding:
    diagnosis = tensorsleuth.diagnose(trace)
    every = [*diagnosis.findings, *diagnosis.notes]
    assert cause in {one.cause for one in every}, [one.summary for one in every]
    return next(one for one in every if one.cause == cause)


def place(finding: Finding) -> tuple[Any, ...]:
    return finding.phase, finding.epoch, finding.batch


@pytest.mark.parametrize("name", KERASES)
def test_a_rule_about_the_graph_says_when_it_first_ran(recorded: Recorded, name: str) -> None:
    keras: Any = kerases.load(name)

    def train() -> None:
        layers = [keras.layers.Dense(8, activation="relu", name="first"), keras.layers.Dense(3, name="second")]
        model = keras.Sequential(layers, name="net")
        model.compile(keras.optimizers.SGD(1e-6), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        model.predict(PIXELS[:8], verbose=0)
        model.fit(PIXELS, LABELS, epochs=2, batch_size=8, verbose=0)

    note = found(recorded(train), "unscaled-inputs")
    assert (note.layer, *place(note)) == ("net/first", "train", 0, 0)
    assert note.to_json()["layer"] == "net/first" and note.to_json()["batch"] == 0


@pytest.mark.parametrize("name", KERASES)
def test_a_rule_about_tokens_says_which_layer_takes_them(recorded: Recorded, name: str) -> None:
    keras: Any = kerases.load(name)

    def train() -> None:
        layers = [keras.layers.Embedding(20, 8, name="words"), keras.layers.GlobalAveragePooling1D()]
        model = keras.Sequential([*layers, keras.layers.Dense(3, name="last")], name="net")
        model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=True)
        model.fit(IDS, LABELS, epochs=1, batch_size=8, verbose=0)

    unknown = found(recorded(train), "vocabulary")
    assert (unknown.layer or "").endswith("words") and place(unknown) == ("train", 0, 0)


def test_without_keras_nothing_is_made_up(recorded: Recorded) -> None:
    weights = tf.Variable(tf.random.stateless_normal([8, 3], (1, 2)) * 0.1)

    @tf.function
    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            logits = tf.matmul(x, weights)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
        weights.assign_sub(1e-6 * tape.gradient(loss, weights))
        return loss

    def train() -> None:
        for at in range(0, 48, 8):
            step(tf.constant(PIXELS[at : at + 8]), tf.constant(LABELS[at : at + 8]))

    note = found(recorded(train), "unscaled-inputs")
    assert (note.layer, *place(note)) == (None, None, None, None)
