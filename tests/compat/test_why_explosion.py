"""Weights that a few updates throw: the rate is to blame, and not the op that overflows because of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.core.finding import Finding
from tensorsleuth.recording.tensorflow import internals as private_tf
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
Loss = Callable[[Any], Any]
SIZES = (8, 16, 16, 1)
NOT_ON_2_15 = pytest.mark.skipif(
    private_tf.version() < (2, 16), reason="eager ops of TensorFlow 2.15 read variables unseen; docs/transformers.md"
)
HOW = {"eager": lambda step: step, "graph": tf.function, "xla": lambda step: tf.function(step, jit_compile=True)}


def first(trace: Trace) -> Finding:
    return tensorsleuth.diagnose(trace).findings[0]


def batch(number: int) -> Any:
    return np.random.default_rng(number).normal(size=(32, SIZES[0])).astype(np.float32)


def network(scale: float = 1.0, seed: int = 1) -> list[Any]:
    rng, shapes = np.random.default_rng(seed), itertools.pairwise(SIZES)
    return [tf.Variable(scale * rng.normal(size=(a, b)).astype(np.float32) / a**0.5) for a, b in shapes]


def train(
    loss_of: Loss, optimizer: Any, how: str = "graph", batches: Any = batch, weights: Any = None, steps: int = 8
) -> None:
    weights = network() if weights is None else weights
    optimizer.build(weights)

    def step(x: Any) -> Any:
        with tf.GradientTape() as tape:
            h = x
            for weight in weights[:-1]:
                h = tf.nn.relu(tf.matmul(h, weight))
            loss = loss_of(tf.matmul(h, weights[-1]))
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return loss

    run = HOW[how](step)
    for number in range(steps):
        run(tf.constant(batches(number)))


def likelihood(out: Any) -> Any:
    return tf.reduce_mean(tf.exp(out) + tf.exp(-out))  # exp


LOSSES: dict[str, Loss] = {
    "exp": likelihood,
    "cosh": lambda out: tf.reduce_mean(tf.cosh(3.0 * out)),
    "norm": lambda out: tf.norm(tf.exp(0.3 * out - 3.0 * tf.abs(out))),  # collapses to 0
}


@pytest.mark.parametrize(
    ("how", "name"),
    [
        pytest.param("eager", "exp", marks=NOT_ON_2_15),
        *[("graph", "exp"), ("xla", "exp"), ("graph", "cosh"), ("graph", "norm")],
    ],
)
def test_the_rate_is_to_blame_for_weights_that_it_threw(recorded: Recorded, how: str, name: str) -> None:
    def program() -> None:
        rate = keras.optimizers.Adam(1.0)  # rate
        train(LOSSES[name], rate, how)

    found = first(recorded(program))
    assert (found.cause, found.line) == ("learning-rate", marked("rate")), found.summary
    assert "(learning rate 1)" in found.summary and " update" in found.summary
    assert found.confidence >= 0.9 and found.fix is not None and found.fix.startswith("lower the learning rate (")


def test_plain_descent_that_overflows_in_two_steps(recorded: Recorded) -> None:
    def program() -> None:
        rate = keras.optimizers.SGD(30.0, momentum=0.9)  # steep
        train(likelihood, rate)

    found = first(recorded(program))
    assert (found.cause, found.line) == ("learning-rate", marked("steep"))


@pytest.mark.parametrize("compiled", [False, True], ids=["graph", "xla"])
def test_the_rate_of_the_optimizer_that_wrote_them_is_named(recorded: Recorded, compiled: bool) -> None:
    """Both optimizers write in the same call, as those of a GAN do."""

    def program() -> None:
        tame = keras.optimizers.Adam(1e-3)
        wild = keras.optimizers.Adam(2.0)  # wild
        judge, maker = network(), network(seed=2)
        tame.build(judge)
        wild.build(maker)

        def step(x: Any) -> None:
            with tf.GradientTape(persistent=True) as tape:
                made, judged = maker_of(x, maker), maker_of(x, judge)
                losses = tf.reduce_mean(judged**2), likelihood(made)
            tame.apply_gradients(zip(tape.gradient(losses[0], judge), judge, strict=True))
            wild.apply_gradients(zip(tape.gradient(losses[1], maker), maker, strict=True))

        run = tf.function(step, jit_compile=compiled)
        for number in range(5):
            run(tf.constant(batch(number)))

    found = first(recorded(program))
    assert (found.cause, found.line) == ("learning-rate", marked("wild")) and "(learning rate 2)" in found.summary


def maker_of(x: Any, weights: list[Any]) -> Any:
    for weight in weights[:-1]:
        x = tf.nn.relu(tf.matmul(x, weight))
    return tf.matmul(x, weights[-1])


@NOT_ON_2_15
def test_two_optimizers_that_one_line_runs(recorded: Recorded) -> None:
    def update(loss_of: Loss, weights: list[Any], optimizer: Any, x: Any) -> None:
        with tf.GradientTape() as tape:
            loss = loss_of(maker_of(x, weights))
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))

    def program() -> None:
        first_one, second = network(), network(seed=2)
        tame, wild = keras.optimizers.Adam(1e-3), None
        wild = keras.optimizers.Adam(2.0)  # second
        for number in range(4):
            update(lambda out: tf.reduce_mean(out**2), first_one, tame, tf.constant(batch(number)))
            update(likelihood, second, wild, tf.constant(batch(number)))

    found = first(recorded(program))
    assert (found.cause, found.line) == ("learning-rate", marked("second"))


def test_a_loss_that_is_fragile_as_well_is_no_sure_case(recorded: Recorded) -> None:
    def by_hand(out: Any) -> Any:
        shares = tf.sigmoid(out)
        return -tf.reduce_mean(tf.math.log(shares) + tf.math.log(1.0 - shares))

    found = first(recorded(lambda: train(by_hand, keras.optimizers.Adam(1.0))))
    assert found.cause == "learning-rate" and 0.7 <= found.confidence < 0.9
    assert found.fix is not None and "if the rate is meant: use tf.math.log_sigmoid" in found.fix


def test_a_batch_far_too_large_is_named_and_no_rate(recorded: Recorded) -> None:
    def batches(number: int) -> Any:
        return batch(number) * (300.0 if number == 5 else 1.0)

    trace = recorded(lambda: train(likelihood, keras.optimizers.Adam(1e-3), batches=batches))
    found = first(trace)
    assert (found.cause, found.line, found.step) == ("exp-overflow", marked("exp"), 5)
    assert "and the batch that went in holds numbers up to" in found.summary
    assert found.fix is not None and found.fix.startswith("look at that batch first")


def test_an_earlier_batch_that_threw_the_weights_is_named(recorded: Recorded) -> None:
    def batches(number: int) -> Any:
        return batch(number) * (12.0 if number == 4 else 1.0)

    def bounded(out: Any) -> Any:
        return tf.reduce_mean(tf.exp(tf.minimum(out, 20.0)) + tf.exp(-out))

    found = first(recorded(lambda: train(bounded, keras.optimizers.SGD(1e-2), batches=batches)))
    assert found.step in (5, 6) and found.confidence < 0.9
    assert "an earlier batch, of step 4, holds numbers up to" in found.summary


def test_first_weights_that_overflow_have_no_rate_to_blame(recorded: Recorded) -> None:
    found = first(recorded(lambda: train(likelihood, keras.optimizers.Adam(1.0), weights=network(9.0))))
    assert (found.cause, found.line, found.step) == ("exp-overflow", marked("exp"), 0)


def test_small_first_weights_that_grow_explain_no_bad_value(recorded: Recorded) -> None:
    """They double in each of the first steps, and are still small."""
    ones = tf.ones([4])

    def loss_of(out: Any) -> Any:
        return tf.reduce_mean((out - 1.0) ** 2) + tf.reduce_mean(tf.math.log(ones * share + 0.0 * out[0, 0]))  # zero

    share = tf.Variable(1.0, trainable=False)

    def program() -> None:
        weights, optimizer = network(1e-3), keras.optimizers.Adam(0.01)
        train(loss_of, optimizer, "eager", weights=weights, steps=3)
        share.assign(0.0)
        train(loss_of, optimizer, "eager", weights=weights, steps=1)

    found = first(recorded(program))
    assert (found.cause, found.line) == ("log-zero", marked("zero"))


@pytest.mark.parametrize("how", ["eager", "graph", "xla"])
@pytest.mark.parametrize("is_snapped", [True, False])
def test_weights_that_have_settled_or_are_given_anew_were_not_thrown(
    recorded: Recorded, how: str, is_snapped: bool
) -> None:
    """The first steps are long, as they may be, and lead to where the slope of a root is infinite."""
    station = np.array([4.0, 3.0], np.float32)
    position = tf.Variable([1.0, 1.0])

    def step() -> Any:
        with tf.GradientTape() as tape:
            squared = tf.reduce_sum((position - station) ** 2)
            loss = squared + 1e-30 * tf.sqrt(squared)  # root
        position.assign_sub(0.4 * tape.gradient(loss, position))
        return loss

    def program() -> None:
        run = HOW[how](step)
        for number in range(80):
            if is_snapped and number == 6:
                position.assign(station)
            if not np.isfinite(float(run())):
                return

    found = first(recorded(program))
    assert (found.cause, found.line) == ("grad-sqrt-zero", marked("root"))


class Sampling(keras.layers.Layer):
    """Draws codes, as the autoencoder of the Keras examples does."""

    def call(self, inputs: Any) -> Any:
        mean, log_variance = inputs
        return mean + tf.exp(0.5 * log_variance) * tf.random.normal(tf.shape(mean), seed=1)


class Autoencoder(keras.Model):
    """A variational autoencoder with a training step of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = keras.layers.Dense(32, activation="relu")
        self.code = [keras.layers.Dense(2, name="z_mean"), keras.layers.Dense(2, name="z_log_var")]
        self.sample, self.decoder = Sampling(), keras.layers.Dense(64)

    def call(self, x: Any) -> Any:
        hidden = self.hidden(x)
        mean, log_variance = (layer(hidden) for layer in self.code)
        return self.decoder(self.sample([mean, log_variance])), mean, log_variance

    def train_step(self, data: Any) -> Any:
        with tf.GradientTape() as tape:
            made, mean, log_variance = self(data)
            distance = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(data, made), axis=1)
            divergence = -0.5 * tf.reduce_sum(1.0 + log_variance - tf.square(mean) - tf.exp(log_variance), axis=1)
            loss = tf.reduce_mean(distance + divergence)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


def test_an_autoencoder_of_keras_that_is_compiled(recorded: Recorded) -> None:
    digits = (np.random.default_rng(0).random((256, 64)) > 0.8).astype(np.float32)

    def program() -> None:
        keras.utils.set_random_seed(3)
        model, optimizer = Autoencoder(), keras.optimizers.Adam(3.0)  # far too large
        model.compile(optimizer, jit_compile=True)
        model.fit(digits, batch_size=32, verbose=0)

    found = first(recorded(program))
    assert (found.cause, found.line) == ("learning-rate", marked("far too large")), found.summary
    assert found.confidence >= 0.9 and "(learning rate 3)" in found.summary
