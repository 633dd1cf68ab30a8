"""Training that goes wrong without a bad value: samples mixed in a batch, labels, inputs, classes, memory."""

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
from tensorsleuth.recording.tensorflow import internals as private_tf
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
RNG = np.random.default_rng(8)
X = RNG.normal(size=(128, 6)).astype("float32")
CLASSES = (X @ RNG.normal(size=(6, 3))).argmax(1).astype("int32")
BATCH, STEPS = 16, 8


NOT_ON_2_15 = pytest.mark.skipif(
    private_tf.version() < (2, 16), reason="eager ops of TensorFlow 2.15 read variables unseen; docs/transformers.md"
)
EAGER_OR_GRAPH = [pytest.param("eager", marks=NOT_ON_2_15), "graph"]


def told(trace: Trace) -> list[tuple[str, str, int | None]]:
    found = tensorsleuth.diagnose(trace)
    return [(one.cause, one.severity, one.line) for one in (*found.findings, *found.notes)]


def weight(*shape: int, scale: float = 0.3) -> tf.Variable:
    return tf.Variable(tf.random.stateless_normal(shape, seed=(sum(shape), 1), stddev=scale))


def training(loss_of: Callable[..., Any], weights: list[tf.Variable], rate: float = 0.05) -> Callable[..., Any]:
    """A compiled training step of a loss that is computed from a batch."""

    @tf.function
    def step(*batch: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = loss_of(*batch)
        for one, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            one.assign_sub(rate * tf.convert_to_tensor(gradient))
        return loss

    made: Callable[..., Any] = step
    return made


def run(step: Callable[..., Any], *data: Any, steps: int = STEPS) -> None:
    for number in range(steps):
        at = number * BATCH % len(data[0])
        step(*(tf.constant(one[at : at + BATCH]) for one in data))


# ---- ops over the batch


@pytest.mark.parametrize("kind", EAGER_OR_GRAPH)
@pytest.mark.parametrize("axis", [0, -1])
def test_a_softmax_over_the_batch(recorded: Recorded, axis: int, kind: str) -> None:
    first = weight(6, 3)

    def loss(x: Any, labels: Any) -> Any:
        shares = tf.nn.softmax(x @ first, axis=axis)  # shares
        return -tf.reduce_mean(tf.reduce_sum(tf.math.log(shares + 1e-6) * tf.one_hot(labels, 3), axis=1))

    loss.weights = [first]  # type: ignore[attr-defined]
    step = training(loss, [first]) if kind == "graph" else eager(loss)
    found = told(recorded(lambda: run(step, X, CLASSES)))
    assert found == ([("batch-mixed", "error", marked("shares"))] if axis == 0 else [])


def test_pooling_over_the_instances_of_one_bag(recorded: Recorded) -> None:
    first, attention, last = weight(6, 8), weight(8, 2), weight(8, 3)

    def loss(x: Any, labels: Any) -> Any:
        features = tf.tanh(x @ first)
        shares = tf.nn.softmax(features @ attention, axis=0)
        logits = tf.matmul(shares, features, transpose_a=True) @ last
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels[:2], logits))

    step = training(loss, [first, attention, last])
    assert [one for one in told(recorded(lambda: run(step, X, CLASSES))) if one[0] == "batch-mixed"] == []


def test_pairs_of_a_contrastive_loss(recorded: Recorded) -> None:
    first, second = weight(6, 8), weight(6, 8)

    def loss(x: Any, other: Any) -> Any:
        scores = tf.matmul(x @ first, other @ second, transpose_b=True)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(tf.range(BATCH), scores))

    step = training(loss, [first, second])
    assert told(recorded(lambda: run(step, X, X + 0.1))) == []


TOKENS = RNG.normal(size=(128, 5, 6)).astype("float32")
SCORES: dict[str, Callable[[Any, Any], Any]] = {
    "pairs": lambda q, k: tf.reduce_sum(tf.nn.softmax(tf.tensordot(q, k, [[2], [2]])), 2),  # pairs
    "summed": lambda q, k: tf.nn.softmax(tf.einsum("bqd,bkd->qk", q, k)) + q[:, :, :1] * 0,  # summed
    "each": lambda q, k: tf.nn.softmax(tf.einsum("bqd,bkd->bqk", q, k)),
    "products": lambda q, k: tf.nn.softmax(tf.matmul(q, k, transpose_b=True)),
}


@pytest.mark.parametrize("name", SCORES)
def test_attention_between_samples(recorded: Recorded, name: str) -> None:
    queries, keys, last = weight(6, 4), weight(6, 4), weight(6, 3)

    def loss(x: Any, labels: Any) -> Any:
        shares = SCORES[name](tf.einsum("btd,de->bte", x, queries), tf.einsum("btd,de->bte", x, keys))
        logits = tf.reduce_mean(tf.matmul(shares, x), 1) @ last
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))

    step = training(loss, [queries, keys, last])
    found = [one for one in told(recorded(lambda: run(step, TOKENS, CLASSES))) if one[0] == "batch-mixed"]
    assert found == ([("batch-mixed", "error", marked(name))] if name in ("pairs", "summed") else [])


@pytest.mark.parametrize("axis", [0, 1])
def test_a_mean_over_the_batch_before_a_layer(recorded: Recorded, axis: int) -> None:
    first = weight(6, 3)

    def loss(x: Any, labels: Any) -> Any:
        pooled = tf.reduce_mean(x, axis=axis)  # pooled
        logits = tf.reduce_mean(pooled @ first, 0) + tf.zeros((BATCH, 3)) if axis == 0 else pooled @ first
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))

    step = training(loss, [first])
    found = told(recorded(lambda: run(step, TOKENS, CLASSES)))
    assert found == ([("batch-mixed", "error", marked("pooled"))] if axis == 0 else [])


def test_batch_normalisation_by_hand(recorded: Recorded) -> None:
    first, last = weight(6, 8), weight(8, 3)

    def loss(x: Any, labels: Any) -> Any:
        hidden = x @ first
        mean, variance = tf.nn.moments(hidden, [0])
        logits = tf.nn.relu((hidden - mean) / tf.sqrt(variance + 1e-3)) @ last
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))

    step = training(loss, [first, last])
    assert told(recorded(lambda: run(step, X, CLASSES))) == []


CONTRACTIONS: dict[str, tuple[Any, bool]] = {
    "tensordot": (lambda a, b: tf.tensordot(a, b, 2), True),
    "einsum": (lambda a, b: tf.einsum("bd,bd->", a, b), True),
    "flat": (lambda a, b: tf.reshape(a, [1, -1]) @ tf.reshape(b, [-1, 1]), True),
    "each sample": (lambda a, b: tf.reduce_sum(a * b, axis=1, keepdims=True), False),
    "einsum of each": (lambda a, b: tf.einsum("bd,bd->b", a, b)[:, None], False),
}


@pytest.mark.parametrize("name", CONTRACTIONS)
def test_a_product_that_sums_over_the_batch(recorded: Recorded, name: str) -> None:
    """Two embeddings, as of users and films, whose product is one number for all ratings of a batch."""
    first, second, bias = weight(6, 8), weight(6, 8), weight(6, 1)
    product, is_mixed = CONTRACTIONS[name]

    def loss(x: Any, y: Any) -> Any:
        rating = tf.sigmoid(product(x @ first, x @ second) + x @ bias)
        return tf.reduce_mean(tf.square(rating - y))

    found = told(recorded(lambda: run(training(loss, [first, second, bias]), X, X[:, :1])))
    assert [one[0] for one in found] == (["batch-mixed"] if is_mixed else [])


def test_a_sum_over_the_batch_that_is_part_of_the_loss(recorded: Recorded) -> None:
    first, second, bias = weight(6, 8), weight(6, 8), weight(6, 1)

    def loss(x: Any, y: Any) -> Any:
        likeness = tf.tensordot(x @ first, x @ second, 2)  # a penalty
        return tf.reduce_mean(tf.square(x @ bias - y)) + 1e-4 * likeness**2

    assert told(recorded(lambda: run(training(loss, [first, second, bias]), X, X[:, :1]))) == []


# ---- scores of one unit, [samples, time, 1]


def pooled_by(axis: int, stacked: bool, keys: int = 5) -> Callable[[Any, Any], Any]:
    """The loss of a model that pools over time, or over a list of parts, by scores of a layer with one unit."""
    scores, last = weight(6, 1), weight(6, 3)

    def loss(x: Any, labels: Any) -> Any:
        if stacked:
            parts = tf.unstack(x[:, :keys], axis=1)
            shares = tf.nn.softmax(tf.stack([tf.tanh(part @ scores) for part in parts]), axis=axis)  # stacked
            pooled = tf.concat([shares[at] * part for at, part in enumerate(parts)], axis=1)[:, :6]
        else:
            shares = tf.nn.softmax(x[:, :keys] @ scores, axis=axis)  # summed over time
            pooled = tf.reduce_sum(shares * x[:, :keys], axis=1)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, pooled @ last))

    loss.weights = [scores, last]  # type: ignore[attr-defined]
    return loss


def eager(loss_of: Any, rate: float = 0.05) -> Callable[..., Any]:
    def step(*batch: Any) -> None:
        with tf.GradientTape() as tape:
            loss = loss_of(*batch)
        for one, gradient in zip(loss_of.weights, tape.gradient(loss, loss_of.weights), strict=True):
            one.assign_sub(rate * gradient)

    return step


UNIT_AXES = [("stacked", -1, "softmax-of-one"), ("stacked", 0, None), ("summed over time", 2, "softmax-of-one")]
UNIT_AXES += [("summed over time", 1, None), ("summed over time", 0, "batch-mixed")]


@pytest.mark.parametrize("kind", EAGER_OR_GRAPH)
@pytest.mark.parametrize(("mark", "axis", "cause"), UNIT_AXES)
def test_attention_by_one_unit(recorded: Recorded, mark: str, axis: int, cause: str | None, kind: str) -> None:
    loss: Any = pooled_by(axis, mark == "stacked")
    step = training(loss, loss.weights) if kind == "graph" else eager(loss)
    found = told(recorded(lambda: run(step, TOKENS, CLASSES)))
    assert found == ([(cause, "error", marked(mark))] if cause else [])


def matmul_of(shares: Any, x: Any) -> Any:
    return tf.squeeze(tf.matmul(tf.transpose(x, [0, 2, 1]), tf.expand_dims(shares, 2)), 2)


SUMS = {
    "matmul": matmul_of,
    "product": lambda shares, x: tf.reduce_sum(x * shares[:, :, None], axis=1),
    "einsum": lambda shares, x: tf.einsum("bt,btd->bd", shares, x),
}


@pytest.mark.parametrize("kind", EAGER_OR_GRAPH)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", SUMS)
def test_attention_to_the_last_state(recorded: Recorded, name: str, axis: int, kind: str) -> None:
    """Scores [batch, time] without weights of their own: an LSTM's states with its last one."""
    first, last = weight(6, 6), weight(6, 3)

    def loss(x: Any, labels: Any) -> Any:
        states = tf.tanh(tf.matmul(x[:, :5], tf.tile(first[None], [tf.shape(x)[0], 1, 1])))
        scores = tf.squeeze(tf.matmul(states, tf.expand_dims(states[:, -1], 2)), 2)
        shares = tf.nn.softmax(scores, axis=axis)  # of states
        logits = SUMS[name](shares, states) @ last
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))

    loss.weights = [first, last]  # type: ignore[attr-defined]
    step = training(loss, [first, last]) if kind == "graph" else eager(loss)
    found = told(recorded(lambda: run(step, TOKENS, CLASSES)))
    assert found == ([("batch-mixed", "error", marked("of states"))] if axis == 0 else [])


def test_attention_to_one_key_and_a_mixture_of_one_part(recorded: Recorded) -> None:
    loss: Any = pooled_by(1, False, keys=1)
    assert told(recorded(lambda: run(eager(loss), TOKENS, CLASSES))) == []
    gate, expert = weight(6, 1), weight(6, 3)

    def mixture(x: Any, labels: Any) -> Any:
        shares = tf.nn.softmax(tf.einsum("btd,de->bte", x, gate))
        made = tf.reduce_sum(shares[..., None] * tf.einsum("btd,de->bte", x, expert)[:, :, None], axis=2)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, tf.reduce_mean(made, 1)))

    assert told(recorded(lambda: run(training(mixture, [gate, expert]), TOKENS, CLASSES))) == []


# ---- norms


def normed(of: Callable[[Any], Any]) -> Any:
    first, last = weight(6, 4), weight(4, 3)

    def loss(x: Any, labels: Any) -> Any:
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, of(x @ first) @ last))

    loss.weights = [first, last]  # type: ignore[attr-defined]
    return loss


NORMS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda h: tf.math.l2_normalize(h),  # whole
    "by hand": lambda h: 9.0 * h / (tf.norm(h) + 1e-6),  # by hand
    "each": lambda h: tf.math.l2_normalize(h, axis=-1),
    "columns": lambda h: tf.math.l2_normalize(h - tf.reduce_mean(h, 0), axis=0),
    "spread": lambda h: h * tf.sqrt(tf.reduce_mean(tf.square(h))),
}


@pytest.mark.parametrize("kind", EAGER_OR_GRAPH)
@pytest.mark.parametrize("name", NORMS)
def test_a_norm_of_the_whole_batch(recorded: Recorded, name: str, kind: str) -> None:
    loss = normed(NORMS[name])
    step = training(loss, loss.weights) if kind == "graph" else eager(loss)
    found = told(recorded(lambda: run(step, X, CLASSES)))
    assert found == ([("batch-mixed", "error", marked(name))] if name in ("whole", "by hand") else [])


# ---- labels


def fitted(keras: Any, x: Any, labels: Any, last: Any, loss: Any, **more: Any) -> None:
    model = keras.Sequential([keras.layers.Input(x.shape[1:]), keras.layers.Dense(8, "relu"), last])
    model.compile("adam", loss)
    model.fit(x, labels, batch_size=BATCH, verbose=0, **{"epochs": 2, **more})  # fit


@pytest.mark.parametrize("constant", [True, False], ids=["constant", "varied"])
@pytest.mark.parametrize("kind", ["classes", "shares", "numbers"])
@pytest.mark.parametrize("name", KERASES)
def test_labels_that_are_all_the_same(recorded: Recorded, name: str, kind: str, constant: bool) -> None:
    keras = kerases.load(name)
    sparse = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    last = {"classes": 3, "shares": 1, "numbers": 1}[kind]
    loss = {"classes": sparse, "shares": "binary_crossentropy", "numbers": "mse"}[kind]
    labels = {"classes": CLASSES, "shares": (X[:, :1] > 0) * 1.0, "numbers": X[:, :1]}[kind]
    labels = np.full_like(labels, 1) if constant else labels
    layer = keras.layers.Dense(last, "sigmoid" if kind == "shares" else None)
    found = told(recorded(lambda: fitted(keras, X, labels, layer, loss)))
    assert [one[:2] for one in found] == ([("constant-labels", "error")] if constant else [])


def test_residuals_that_are_to_be_zero(recorded: Recorded) -> None:
    first = weight(6, 1)
    step = training(lambda x, zero: tf.reduce_mean(tf.math.squared_difference(x @ first, zero)), [first])
    assert [one[:2] for one in told(recorded(lambda: run(step, X, np.zeros((128, 1), "float32"))))] == [
        ("constant-labels", "note")
    ]


def test_a_gan_tells_each_network_one_answer(recorded: Recorded) -> None:
    makes, judges = weight(6, 6), weight(6, 1)

    def loss(x: Any, answer: Any) -> Any:
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(answer, x @ judges))

    told_real = training(loss, [judges])
    told_made = training(lambda noise, answer: loss(noise @ makes, answer), [makes])
    ones = np.ones((128, 1), "float32")

    def play() -> None:
        for number in range(STEPS):
            run(told_real, X, ones * (number % 2), steps=1)
            run(told_made, X, ones, steps=1)

    assert [one for one in told(recorded(play)) if one[0] == "constant-labels"] == []


# ---- inputs

PIXELS = RNG.integers(0, 256, (64, 6)).astype("float32")


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("name", KERASES)
def test_pixels_that_are_not_scaled(recorded: Recorded, name: str, scaled: bool) -> None:
    keras = kerases.load(name)
    sparse = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    layers = [keras.layers.Rescaling(1 / 255)] if scaled else []
    layers += [keras.layers.Dense(8, "relu"), keras.layers.Dense(3)]
    model = keras.Sequential([keras.layers.Input((6,)), *layers])
    model.compile(keras.optimizers.Adam(0.003), sparse)
    found = told(recorded(lambda: model.fit(PIXELS, CLASSES[:64], batch_size=BATCH, epochs=4, verbose=0)))
    assert ("unscaled-inputs" in [one[0] for one in found]) is not scaled


def test_raw_amounts_in_eager_code_from_which_nothing_is_learned(recorded: Recorded) -> None:
    first = weight(6, 1)

    def train() -> None:
        for number in range(24):
            x = tf.constant(X[number : number + 8] * 1e4)
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(x @ first - 1.0))  # raw
            first.assign_sub(1e-14 * tape.gradient(loss, first))

    found = [one for one in told(recorded(train)) if one[0] == "unscaled-inputs"]
    assert [(cause, line) for cause, _, line in found] == [("unscaled-inputs", marked("raw"))]


# ---- a class that is never predicted


@pytest.mark.parametrize("rare", [True, False])
def test_a_class_that_is_never_predicted(recorded: Recorded, rare: bool) -> None:
    first, bias = weight(6, 1, scale=0.05), tf.Variable([-2.0 if rare else 0.0])
    drawn = (np.random.default_rng(2).random((128, 1)) < 0.06) if rare else X[:, :1] > 0

    def loss(x: Any, labels: Any) -> Any:
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, x @ first + bias))

    step = training(loss, [first, bias])
    found = told(recorded(lambda: run(step, X, drawn.astype("float32"), steps=64)))
    assert [one[:2] for one in found] == ([("class-never-predicted", "note")] if rare else [])


RARE = (np.random.default_rng(2).random((128, 8)) < 0.06).astype("float32")


def reconstruct(x: Any) -> tuple[Any, Any]:
    return x, x


def restore(x: Any) -> tuple[Any, Any]:
    """Return pictures with noise, as [batch, 12, 12, 1], and the pictures without it."""
    pictures = tf.tile(tf.reshape(x, (-1, 8, 1, 1)), (1, 18, 1, 1))
    return tf.reshape(pictures, (-1, 144)) + 0.3, tf.reshape(pictures, (-1, 12, 12, 1))


def tag(x: Any) -> tuple[Any, Any]:
    return tf.roll(x, 1, 0) + 0.1, x


@pytest.mark.parametrize("pair", [reconstruct, restore, tag], ids=lambda pair: pair.__name__)
def test_pixels_are_no_classes(recorded: Recorded, pair: Callable[[Any], tuple[Any, Any]]) -> None:
    """An autoencoder of thin binary pictures predicts no pixel at first, like a classifier of rare tags."""
    given, wanted = (part.numpy() for part in map(tf.convert_to_tensor, pair(RARE)))
    width = int(np.prod(given.shape[1:]))
    first, bias = weight(width, width, scale=0.05), tf.Variable(-2.0)

    def loss(x: Any, *labels: Any) -> Any:
        logits = tf.reshape(tf.reshape(x, (-1, width)) @ first + bias, tf.shape(labels[0] if labels else x))
        return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels[0] if labels else x, logits))

    data = [given] if pair is reconstruct else [given, wanted]
    found = told(recorded(lambda: run(training(loss, [first, bias], rate=0.01), *data, steps=64)))
    assert [one[0] for one in found if one[0] == "class-never-predicted"] == ["class-never-predicted"] * (pair is tag)


# ---- memory in place of learning


def overfit(memory: bool) -> tuple[Callable[..., Any], Callable[..., Any], list[Any]]:
    """A linear model with far more weights than samples, or fewer."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(16 + 64, 30 if memory else 2)).astype("float32")
    y = (x[:, :1] + (3.0 if memory else 0.1) * rng.normal(size=(len(x), 1))).astype("float32")
    first = tf.Variable(tf.zeros((x.shape[1], 1)))

    def loss(x: Any, y: Any) -> Any:
        return tf.reduce_mean(tf.math.squared_difference(x @ first, y))

    return training(loss, [first], rate=0.03), tf.function(loss), [x[:16], y[:16], x[16:], y[16:]]


@pytest.mark.parametrize("memory", [True, False])
def test_a_validation_loss_that_rises_while_the_training_loss_falls(recorded: Recorded, memory: bool) -> None:
    step, measure, (x, y, held_x, held_y) = overfit(memory)

    def train() -> None:
        for _ in range(15):
            for _ in range(4):
                step(tf.constant(x), tf.constant(y))
            measure(tf.constant(held_x), tf.constant(held_y))

    found = [one for one in told(recorded(train)) if one[0] == "overfitting"]
    assert bool(found) is memory
