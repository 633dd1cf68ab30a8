"""Whether padding counts in a loss that is weighed: weights that are the same everywhere leave nothing out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat import kerases
from tests.compat.kerases import KERASES

import tensorsleuth
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
Weights = Callable[[Any], Any]
WORDS, TAGS, LENGTH, WIDTH, PAD, STEPS = 30, 5, 12, 16, 0, 6
random = np.random.default_rng(5)


def texts(rows: int = 16, shortest: int = 4) -> Any:
    ids = 1 + (random.integers(0, WORDS, (rows, 1)) + 2 * np.arange(LENGTH)) % (WORDS - 1)
    ids[np.arange(LENGTH)[None] >= random.integers(shortest, LENGTH + 1, (rows, 1))] = PAD
    return ids.astype(np.int32)


def tags_of(ids: Any) -> Any:
    return np.where(ids == PAD, PAD, 1 + ids % (TAGS - 1)).astype(np.int32)


def ones(ids: Any) -> Any:
    return np.ones(ids.shape, np.float32)


def right(ids: Any) -> Any:
    return (ids != PAD).astype(np.float32)


def low(ids: Any) -> Any:
    return np.where(ids == PAD, 0.01, 1).astype(np.float32)


def of_samples(ids: Any) -> Any:
    """As many as there are samples, all different: of those nothing is said."""
    return random.uniform(0.5, 2, (len(ids), 1)).astype(np.float32)


def said(trace: Trace) -> list[str]:
    found = tensorsleuth.diagnose(trace)
    return [one.summary for one in (*found.findings, *found.notes) if one.cause == "loss-padding"]


def fitted(keras: Any, weights: Weights | None, mask_zero: bool = False, shortest: int = 4) -> None:
    ids, layers = texts(96, shortest), keras.layers
    model = keras.Sequential([layers.Embedding(WORDS, WIDTH, mask_zero=mask_zero), layers.Dense(TAGS)])
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    weighed = {} if weights is None else {"sample_weight": weights(ids)}
    model.fit(ids, tags_of(ids), batch_size=16, verbose=0, **weighed)


@pytest.mark.parametrize("name", KERASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_sample_weight_that_is_nowhere_0(recorded: Recorded, name: str, dtype: Any) -> None:
    keras = kerases.load(name)
    [found] = said(recorded(lambda: fitted(keras, lambda ids: ones(ids).astype(dtype))))
    assert "of x, with y as labels, weighed by sample_weight, which is nowhere 0: expected padding to weigh" in found


@pytest.mark.parametrize(("shortest", "severity"), [(4, "error"), (LENGTH - 4, "note")])
@pytest.mark.parametrize("name", KERASES)
def test_a_little_padding_is_a_note(recorded: Recorded, name: str, shortest: int, severity: str) -> None:
    """Where nearly all labels are tokens, these decide what is learned, as in the published miniature GPT."""
    trace = recorded(lambda: fitted(kerases.load(name), None, shortest=shortest))
    found = tensorsleuth.diagnose(trace)
    told = [(one.cause, one.severity) for one in (*found.findings, *found.notes)]
    assert told == [("loss-padding", severity)]


@pytest.mark.parametrize("name", KERASES)
@pytest.mark.parametrize("weights", [right, low, of_samples])
def test_sample_weight_that_may_leave_padding_out(recorded: Recorded, name: str, weights: Weights) -> None:
    assert said(recorded(lambda: fitted(kerases.load(name), weights))) == []


@pytest.mark.parametrize("name", KERASES)
@pytest.mark.parametrize("weights", [None, ones])
def test_padding_that_keras_masks(recorded: Recorded, name: str, weights: Weights | None) -> None:
    assert said(recorded(lambda: fitted(kerases.load(name), weights, mask_zero=True))) == []


def trained(weighed: Callable[[Any, Any, Any], Any], weights_of: Weights = ones) -> Callable[[], None]:
    """A loop of one's own; `weighed` makes the loss of losses, labels and weights."""
    variables = [tf.Variable(random.normal(size=size).astype(np.float32)) for size in ((WORDS, WIDTH), (WIDTH, TAGS))]

    @tf.function
    def step(ids: Any, tags: Any, real: Any) -> None:
        with tf.GradientTape() as tape:
            logits = tf.matmul(tf.gather(variables[0], ids), variables[1])
            loss = weighed(tf.nn.sparse_softmax_cross_entropy_with_logits(tags, logits), tags, real)
        for variable, slope in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(0.1 * tf.convert_to_tensor(slope))

    def program() -> None:
        for _ in range(STEPS):
            ids = texts()
            step(tf.constant(ids), tf.constant(tags_of(ids)), tf.constant(weights_of(ids)))

    return program


def mean(losses: Any, weights: Any) -> Any:
    return tf.reduce_sum(losses * weights) / tf.reduce_sum(weights)


def by_argument(losses: Any, tags: Any, real: Any) -> Any:
    return mean(losses, real)


def by_flat_argument(losses: Any, tags: Any, real: Any) -> Any:
    return mean(tf.reshape(losses, [-1]), tf.reshape(tf.cast(real, losses.dtype), [-1]))


def by_comparison(losses: Any, tags: Any, real: Any) -> Any:
    return mean(losses, tf.cast((tags != -1) & (tags < TAGS), losses.dtype))


def by_sizes(losses: Any, tags: Any, real: Any) -> Any:
    """Divided by how many tokens there are, all losses are summed."""
    return tf.reduce_sum(losses * (1 / tf.reduce_sum(real)))


def by_both(losses: Any, tags: Any, real: Any) -> Any:
    return mean(losses * tf.cast(tags != PAD, losses.dtype), real)


def by_picking(losses: Any, tags: Any, real: Any) -> Any:
    return tf.reduce_mean(tf.boolean_mask(losses * real, tags != PAD))


@pytest.mark.parametrize(
    ("weighed", "words"),
    [
        (by_argument, "tags as labels, weighed by real, which is nowhere 0: "),
        (by_flat_argument, "tags as labels, weighed by real, which is nowhere 0: "),
        (by_comparison, "tags as labels, weighed by a mask, which is nowhere 0: "),
        (by_sizes, "tags as labels: expected padding to weigh nothing"),
    ],
)
def test_weights_in_a_loop_of_ones_own(recorded: Recorded, weighed: Any, words: str) -> None:
    [found] = said(recorded(trained(weighed)))
    assert words in found


@pytest.mark.parametrize("weighed", [by_both, by_picking])
def test_even_weights_beside_a_mask(recorded: Recorded, weighed: Any) -> None:
    assert said(recorded(trained(weighed))) == []


@pytest.mark.parametrize("weights", [right, low])
@pytest.mark.parametrize("weighed", [by_argument, by_flat_argument])
def test_weights_of_ones_own_that_may_leave_padding_out(recorded: Recorded, weighed: Any, weights: Any) -> None:
    assert said(recorded(trained(weighed, weights))) == []


def test_weights_that_once_leave_padding_out(recorded: Recorded) -> None:
    batches = iter(range(STEPS))
    assert said(recorded(trained(by_argument, lambda ids: ones(ids) if next(batches) else right(ids)))) == []


def test_what_to_change(recorded: Recorded) -> None:
    [found] = tensorsleuth.diagnose(recorded(trained(by_argument))).findings
    assert (found.fix or "").startswith("weigh what is padding (id 0) with 0: now all positions weigh the same")
