"""Training that computes no bad value and does not learn: told alike in eager code, functions, sessions and Keras."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat import kerases, training_loops
from tests.compat.looking import marked_in
from tests.compat.training_loops import KINDS, Training, X, Y, descend, drawn, filled, leave, squares, two_layers

import tensorsleuth
from tensorsleuth.core.finding import Diagnosis
from tensorsleuth.recording.tensorflow import internals as private_tf
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
keras = kerases.load("keras")
v1 = tf.compat.v1
LABELS = (X[:, 0] > 0).astype("int64") + (X[:, 1] > 0)
ZEROS = (filled(0.0, 8, 16), filled(0.0, 16), filled(0.0, 16, 1), filled(0.0, 1))
ONES = (filled(0.2, 8, 16), filled(0.0, 16), filled(0.2, 16, 1), filled(0.0, 1))
FAR = (drawn(8, 16, scale=900.0), filled(0.0, 16), drawn(16, 1), filled(0.0, 1))


def diagnosis(recorded: Recorded, program: Callable[[], Any]) -> Diagnosis:
    tf.keras.utils.set_random_seed(3)
    return tensorsleuth.diagnose(recorded(program))


def skip_eager_on_2_15(kind: str) -> None:
    if kind == "eager" and private_tf.version() < (2, 16):
        pytest.skip("not told of eager loops on TensorFlow 2.15; docs/transformers.md")


def tanh_squares(weights: list[Any], x: Any, y: Any) -> Any:
    return tf.reduce_mean(tf.square(two_layers(weights, x, tf.tanh) - y))


def sigmoid_squares(weights: list[Any], x: Any, y: Any) -> Any:
    return tf.reduce_mean(tf.square(two_layers(weights, x, tf.sigmoid) - y))


def softmax_loss(weights: list[Any], x: Any, y: Any) -> Any:
    probability = tf.nn.softmax(two_layers(weights, x))
    right = tf.cast(y > 0, tf.float32)
    return -tf.reduce_mean(right * tf.math.log(probability + 1e-7) + (1 - right) * tf.math.log(1.0001 - probability))


def wide_labels(weights: list[Any], x: Any, y: Any) -> Any:
    labels = tf.cast(y > 0, tf.float32) * 255
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=two_layers(weights, x)))


ILLS = {
    "gradients-not-applied": Training(update=leave),
    "equal-weights": Training(tanh_squares, make=ONES),
    "softmax-of-one": Training(softmax_loss),
    "loss-scaled-away": Training(lambda weights, x, y: squares(weights, x, y) * 1e-12),
    "flat-loss": Training(update=descend(1e-12)),
    "diverging-loss": Training(wide_labels, descend(0.02)),
    "saturated-layer": Training(sigmoid_squares, descend(0.01), make=FAR),
    "dead-layer": Training(make=(drawn(8, 16), filled(-50.0, 16), drawn(16, 1), filled(0.0, 1))),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cause", ILLS)
def test_an_ill_is_told_alike_in_every_loop(recorded: Recorded, cause: str, kind: str) -> None:
    if cause in ("equal-weights", "dead-layer"):
        skip_eager_on_2_15(kind)
    found = diagnosis(recorded, lambda: KINDS[kind](ILLS[cause]))
    assert [one.cause for one in found.findings] == [cause]
    assert found.findings[0].file == training_loops.__file__ or found.findings[0].file == __file__
    if cause == "gradients-not-applied":
        mark = "session gradients" if kind == "session" else "gradients"
        assert found.findings[0].line == marked_in(training_loops.__file__, mark)


@pytest.mark.parametrize("kind", KINDS)
def test_layers_of_zeros_stay_zero(recorded: Recorded, kind: str) -> None:
    skip_eager_on_2_15(kind)
    [found] = diagnosis(recorded, lambda: KINDS[kind](Training(tanh_squares, make=ZEROS))).findings
    assert found.cause == "equal-weights" and "no gradient reaches them" in found.summary


def one_layer(weights: list[Any], x: Any, y: Any) -> Any:
    return tf.reduce_mean(tf.square(x @ weights[0] + weights[1] - y))


def annealed(weights: list[Any], x: Any, y: Any) -> Any:
    return squares(weights, x, y) + 0.0 * tf.reduce_mean(tf.square(weights[0]))


def likelihood(weights: list[Any], x: Any, y: Any) -> Any:
    scale = tf.exp(two_layers(weights, x) * 0.1 - 3)
    return tf.reduce_mean(tf.square((0.01 * y) / scale) / 2 + tf.math.log(scale))


HEALTHY = {
    "plain": Training(),
    "one layer of zeros": Training(one_layer, make=(filled(0.0, 8, 1), filled(0.0, 1))),
    "a last layer of zeros": Training(make=(*Training().make[:2], filled(0.0, 16, 1), filled(0.0, 1))),
    "a term that is annealed": Training(annealed),
    "a loss below zero": Training(likelihood, descend(0.01)),
    "most units off": Training(make=(drawn(8, 16), filled(-0.8, 16), drawn(16, 1), filled(0.0, 1))),
    "a hinge that is met": Training(lambda some, x, y: squares(some, x, y) + tf.reduce_mean(tf.nn.relu(some[2] - 9.0))),
    "one step": Training(steps=1),
    "three steps that are not applied": Training(steps=3, update=leave),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", HEALTHY)
def test_its_healthy_twin_is_healthy(recorded: Recorded, name: str, kind: str) -> None:
    found = diagnosis(recorded, lambda: KINDS[kind](HEALTHY[name]))
    assert (found.verdict, found.findings, found.notes, found.unclear) == ("healthy", (), (), ())


@pytest.mark.parametrize("kind", KINDS)
def test_a_few_steps_that_are_not_applied_are_unclear(recorded: Recorded, kind: str) -> None:
    found = diagnosis(recorded, lambda: KINDS[kind](Training(steps=5, update=leave)))
    assert found.verdict == "unknown" and "not applied" in found.unclear[0].what


def by_sign(rate: float) -> training_loops.Step:
    def step(some: list[Any], gradients: list[Any]) -> list[Any]:
        return [one.assign_sub(rate * tf.sign(gradient)) for one, gradient in zip(some, gradients, strict=True)]

    return step


def halves(weights: list[Any], x: Any, y: Any) -> Any:
    """The loss of labels that nothing tells apart: no step lowers it for long."""
    labels = tf.cast(tf.math.floormod(tf.floor(tf.abs(x[:, :1]) * 1e3), 2.0) > 0, tf.float32)
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=two_layers(weights, x)))


STEP_LENGTHS = {
    "learning-rate-too-high": Training(update=by_sign(0.2), steps=100),
    "flat-loss": Training(update=descend(3e-7), steps=120),
    "": Training(update=by_sign(0.001), steps=100),
    " of labels by chance": Training(halves, by_sign(0.0001), steps=100),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", STEP_LENGTHS)
def test_steps_that_may_be_too_long_or_too_short_are_noted(recorded: Recorded, name: str, kind: str) -> None:
    found = diagnosis(recorded, lambda: KINDS[kind](STEP_LENGTHS[name]))
    causes = {name.partition(" ")[0]} - {""} if (name, kind) != ("flat-loss", "session") else set()
    told = {one.cause for one in found.notes} & {"learning-rate-too-high", "flat-loss"}
    assert (found.findings, told) == ((), causes)


# ---- programs of one kind


def weights() -> list[Any]:
    return [tf.Variable(make()) for make in Training().make]


def differentiate(some: list[Any], at: Any = slice(0, 16)) -> tuple[Any, list[Any]]:
    with tf.GradientTape() as tape:
        loss = squares(some, X[at], Y[at])
    return loss, tape.gradient(loss, some)


def exhausted_pairs() -> None:
    some = weights()
    for at in training_loops.batches(24):
        pairs = zip(some, differentiate(some, at)[1], strict=True)
        max(float(tf.reduce_max(gradient)) for _, gradient in pairs)
        for one, gradient in pairs:
            one.assign_sub(0.1 * gradient)


def forgotten_in_train_step() -> None:
    class Model(keras.Sequential):  # type: ignore[name-defined]
        def train_step(self, data: Any) -> Any:
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(self(x, training=True) - y))
            tape.gradient(loss, self.trainable_variables)
            return {"loss": loss}

    fit(Model(layers(1)), "mse", Y)


def layers(units: int, activation: str | None = None, **options: Any) -> list[Any]:
    first = keras.layers.Dense(16, "relu", **options)
    return [keras.layers.Input((8,)), first, keras.layers.Dense(units, activation, **options)]


def fit(model: Any, loss: Any, targets: Any, optimizer: Any = "sgd", epochs: int = 7) -> None:
    model.compile(optimizer, loss)
    model.fit(X, targets, batch_size=16, epochs=epochs, verbose=0)


def zeros_in_keras() -> None:
    fit(keras.Sequential(layers(3, "softmax", kernel_initializer="zeros")), "sparse_categorical_crossentropy", LABELS)


def softmax_of_one_in_keras() -> None:
    fit(keras.Sequential(layers(1, "softmax")), "binary_crossentropy", (Y > 0).astype("float32"))


def small_rate_in_keras() -> None:
    fit(keras.Sequential(layers(1)), "mse", Y, keras.optimizers.SGD(1e-11))


def large_rate() -> None:
    some, optimizer = weights(), keras.optimizers.Adam(3.0)
    for at in training_loops.batches(24):
        optimizer.apply_gradients(zip(differentiate(some, at)[1], some, strict=True))


def deep(bias: float, at_step: int = 0) -> None:
    """Three layers that one line runs, one of which dies in a step; the others live on by a shortcut."""
    some = [(tf.Variable(drawn(8, 8)()), tf.Variable(tf.ones(8))) for _ in range(3)]
    last = tf.Variable(drawn(8, 1)())
    flat = [one for pair in some for one in pair] + [last]
    for number, at in enumerate(training_loops.batches(30)):
        if number == at_step:
            some[1][1].assign(tf.fill([8], bias))
        with tf.GradientTape() as tape:
            x = tf.constant(X[at])
            for kernel, shift in some:
                x = tf.nn.relu(x @ kernel + shift) if kernel is some[1][0] else x + tf.nn.relu(x @ kernel + shift)
            loss = tf.reduce_mean(tf.square(x @ last - Y[at]))
        descend(0.01)(flat, tape.gradient(loss, flat))


OF_ONE_KIND = {
    "dead-layer": [lambda: deep(-90.0), lambda: deep(-90.0, 15)],
    "gradients-not-applied": [exhausted_pairs, forgotten_in_train_step],
    "equal-weights": [zeros_in_keras],
    "softmax-of-one": [softmax_of_one_in_keras],
    "flat-loss": [small_rate_in_keras],
    "learning-rate-too-high": [large_rate],
}


@pytest.mark.filterwarnings("ignore::UserWarning")  # Keras warns of a softmax over one unit
@pytest.mark.parametrize(
    ("cause", "program"), [(cause, program) for cause, several in OF_ONE_KIND.items() for program in several]
)
def test_an_ill_of_one_kind_of_loop(recorded: Recorded, cause: str, program: Callable[[], None]) -> None:
    if program is large_rate or cause == "dead-layer":
        skip_eager_on_2_15("eager")
    found = diagnosis(recorded, program)
    assert [one.cause for one in found.findings] == [cause]


def frozen_base() -> None:
    base = keras.Sequential(layers(16, "relu"))
    base.trainable = False
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    fit(keras.Sequential([base, keras.layers.Dense(3)]), loss, LABELS, keras.optimizers.Adam(0.01))


def weights_that_come_back_from_numpy() -> None:
    some = weights()
    for _ in range(24):
        for one, gradient in zip(some, differentiate(some)[1], strict=True):
            one.assign(one.numpy() - 0.05 * gradient.numpy())


def gathered_gradients() -> None:
    some = weights()
    sums = [tf.Variable(tf.zeros_like(one), trainable=False) for one in some]
    for number, at in enumerate(training_loops.batches(40)):
        for total, gradient in zip(sums, differentiate(some, at)[1], strict=True):
            total.assign_add(gradient / 16)
        if number % 16 == 15:
            for one, total in zip(some, sums, strict=True):
                one.assign_sub(0.05 * total)
                total.assign(tf.zeros_like(total))


def saliency() -> None:
    some = weights()
    for at in training_loops.batches(24):
        x = tf.constant(X[at])
        with tf.GradientTape() as tape:
            tape.watch(x)
            score = tf.reduce_sum(two_layers(some, x))
        float(tf.reduce_max(tape.gradient(score, x)))


def gradient_penalty() -> None:
    def penalized(some: list[Any], x: Any, y: Any) -> Any:
        x = tf.convert_to_tensor(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            score = two_layers(some, x, tf.tanh)
        return tf.reduce_mean(tf.square(score - y)) + 0.1 * tf.reduce_mean(tf.square(tape.gradient(score, x)))

    KINDS["function"](Training(penalized, descend(0.02)))


def attention_to_one_key() -> None:
    def attended(some: list[Any], x: Any, y: Any) -> Any:
        keys = tf.reduce_mean(x, axis=0, keepdims=True)
        return tf.reduce_mean(tf.square(tf.nn.softmax(x @ some[0] @ tf.transpose(keys)) @ keys @ some[1] - y))

    KINDS["eager"](Training(attended, make=(drawn(8, 8), drawn(8, 1))))


def warm_up() -> None:
    rate = tf.Variable(0.0, trainable=False)

    def update(some: list[Any], gradients: list[Any]) -> list[Any]:
        rate.assign_add(1e-9)
        return descend(rate)(some, gradients)

    KINDS["function"](Training(update=update, steps=40))


def adversaries() -> None:
    generator, critic = [*weights()[:2], tf.Variable(drawn(16, 8)()), tf.Variable(tf.zeros(8))], weights()
    for at in training_loops.batches(30):
        with tf.GradientTape(persistent=True) as tape:
            fake, real = two_layers(critic, two_layers(generator, tf.random.normal((16, 8)))), two_layers(critic, X[at])
            of_critic = tf.reduce_mean(tf.nn.softplus(-real)) + tf.reduce_mean(tf.nn.softplus(fake))
            of_generator = tf.reduce_mean(tf.nn.softplus(-fake))
        descend(0.3)(critic, tape.gradient(of_critic, critic))
        descend(0.01)(generator, tape.gradient(of_generator, generator))


def rivals_in_a_session() -> None:
    """Only the critic's loss is fetched, and rises as the generator learns."""
    rng = np.random.default_rng(1)
    with tf.Graph().as_default(), v1.Session() as session:
        z, real = v1.placeholder(tf.float32, [None, 4]), v1.placeholder(tf.float32, [None, 4])
        made = [v1.Variable(rng.normal(size=(4, 4)).astype("float32")), v1.Variable(tf.fill([4], 1.5))]
        judge = [v1.Variable(rng.normal(size=(4, 8)).astype("float32")), v1.Variable(tf.zeros([8]))]
        judge += [v1.Variable(0.1 * rng.normal(size=(8, 1)).astype("float32")), v1.Variable(tf.zeros([1]))]
        fake = tf.tanh(z @ made[0]) + made[1]
        of_fake, of_real = two_layers(judge, fake), two_layers(judge, real)
        loss = tf.reduce_mean(tf.nn.softplus(-of_real)) + tf.reduce_mean(tf.nn.softplus(of_fake))
        critic = v1.train.AdamOptimizer(0.05).minimize(loss, var_list=judge)
        generator = v1.train.AdamOptimizer(0.02).minimize(tf.reduce_mean(tf.nn.softplus(-of_fake)), var_list=made)
        session.run(v1.global_variables_initializer())
        for _ in range(200):
            fed = {z: rng.normal(size=(32, 4)), real: np.tanh(rng.normal(size=(32, 4)))}
            session.run([critic, generator, loss], fed)


def dropout_by_placeholder() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        x, y = v1.placeholder(tf.float32, [None, 8]), v1.placeholder(tf.float32, [None, 1])
        keep, some = v1.placeholder(tf.float32), [v1.Variable(make()) for make in Training().make]
        hidden = v1.nn.dropout(tf.nn.relu(x @ some[0] + some[1]), keep_prob=keep)
        hidden = v1.nn.dropout(hidden, keep_prob=keep)  # of the same rate, which TensorFlow computes once
        loss = tf.reduce_mean(tf.square(hidden @ some[2] + some[3] - y))
        train = v1.train.GradientDescentOptimizer(0.05).minimize(loss)
        session.run(v1.global_variables_initializer())
        for at in training_loops.batches(30):
            session.run([train, loss], {x: X[at], y: Y[at], keep: 0.8})
            session.run(loss, {x: X[at], y: Y[at], keep: 1.0})


def measured_only() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        x, y = v1.placeholder(tf.float32, [None, 8]), v1.placeholder(tf.float32, [None, 1])
        loss = squares([v1.Variable(make()) for make in Training().make], x, y)
        session.run(v1.global_variables_initializer())
        for at in training_loops.batches(30):
            session.run(loss, {x: X[at], y: Y[at]})


def warm_restarts() -> None:
    rates = [0.05 * (1 + np.cos(np.pi * (step % 10) / 10)) for step in range(40)]
    some = weights()
    for at, rate in zip(training_loops.batches(40), rates, strict=True):
        descend(float(rate))(some, differentiate(some, at)[1])


def a_layer_that_comes_back() -> None:
    deep(1.0, 15)


MEANT = [
    a_layer_that_comes_back,
    frozen_base,
    weights_that_come_back_from_numpy,
    gathered_gradients,
    saliency,
    gradient_penalty,
    attention_to_one_key,
    warm_up,
    adversaries,
    rivals_in_a_session,
    dropout_by_placeholder,
    measured_only,
    warm_restarts,
]


@pytest.mark.parametrize("program", MEANT, ids=lambda one: one.__name__)
def test_there_is_no_alarm_where_it_is_meant(recorded: Recorded, program: Callable[[], None]) -> None:
    found = diagnosis(recorded, program)
    assert (found.findings, found.notes) == ((), ())


def test_a_benchmark_of_gradients_is_only_noted(recorded: Recorded) -> None:
    """One batch, no optimizer: the time of a backward pass may be all that is wanted."""

    def program() -> None:
        some = weights()
        for _ in range(20):
            differentiate(some)

    found = diagnosis(recorded, program)
    assert not found.findings and [one.cause for one in found.notes] == ["gradients-not-applied"]
