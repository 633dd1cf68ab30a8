"""Small models of padded texts: one text that goes on, one that is classified, one that is made of another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

BATCH, TIME, WIDTH, WORDS, PREFIX, START = 16, 12, 32, 30, 4, 1
Mask = Callable[[Any], Any]  # ids -> the mask to add to scores [batch, queries, keys], or a function of the scores


def texts(rng: Any, padded: bool = True, first: int = 4) -> Any:
    ids = rng.integers(first, WORDS, (BATCH, TIME + 1)).astype("int32")
    lengths = rng.integers(5, TIME + 2, (BATCH, 1))
    return np.where(np.arange(TIME + 1)[None] < lengths, ids, 0) if padded else ids


# ---- masks


def none(ids: Any) -> Any:
    return tf.zeros((1, 1, 1))


def of_keys(ids: Any) -> Any:
    return tf.where(tf.not_equal(ids, 0), 0.0, -1e9)[:, tf.newaxis, :]


def bytes_of(ids: Any) -> Any:
    return tf.cast(tf.not_equal(ids, 0), tf.uint8)


def unsigned(ids: Any) -> Any:
    return tf.cast(1 - bytes_of(ids), tf.float32)[:, tf.newaxis, :] * -1e9


def below_nothing(ids: Any) -> Any:
    lowered = bytes_of(ids) - 1  # less than nothing
    return tf.cast(lowered, tf.float32)[:, tf.newaxis, :] * 1e9


def of_queries(ids: Any) -> Any:
    real = tf.not_equal(ids, 0)
    hidden = real[:, :, tf.newaxis]  # a row for each query
    return tf.where(hidden, 0.0, -1e9)


def causal(ids: Any) -> Any:
    return (1.0 - tf.linalg.band_part(tf.ones((TIME, TIME)), -1, 0))[tf.newaxis] * -1e9


def causal_of_keys(ids: Any) -> Any:
    return tf.minimum(causal(ids), of_keys(ids))


def prefix(ids: Any) -> Any:
    """The first tokens are read whole, what follows looks back."""
    seen = np.tril(np.ones((TIME, TIME), "float32"))
    seen[:, :PREFIX] = 1.0
    return tf.constant((1.0 - seen)[None] * -1e9)


def window(ids: Any) -> Any:
    places = np.arange(TIME)
    far = np.abs(places[:, None] - places) > 2
    return tf.minimum(tf.constant(np.where(far, -1e9, 0.0)[None].astype("float32")), of_keys(ids))


def past() -> Any:
    return tf.linalg.band_part(tf.ones((TIME, TIME)), -1, 0)


def times_past(ids: Any) -> Any:
    return lambda scores: scores * past()  # times what is past


def times_real(ids: Any) -> Any:
    real = tf.cast(tf.not_equal(ids, 0), tf.float32)[:, tf.newaxis, :]
    return lambda scores: scores * real  # times what is real


def times_both(ids: Any) -> Any:
    places = tf.range(tf.shape(ids)[1])
    seen = (places[:, tf.newaxis] >= places) & tf.not_equal(ids, 0)[:, tf.newaxis, :]
    return lambda scores: 0.5 * (scores * tf.cast(seen, tf.float32))  # times both


def times_and_hidden(ids: Any) -> Any:
    """As GPT-2 has it: what is multiplied by 0 is put far below 0 afterwards."""
    return lambda scores: scores * past() - 1e9 * (1.0 - past())


def of_other_keys(ids: Any) -> Any:
    return tf.where(tf.not_equal(ids, 3), 0.0, -1e9)[:, tf.newaxis, :]  # of an id that no text has


def dropped(ids: Any) -> Any:
    """Some scores are 0 by chance: that is no mask."""
    kept = tf.cast(tf.random.stateless_uniform((TIME, TIME), (1, 2)) > 0.1, tf.float32)
    return lambda scores: (scores + of_other_keys(ids)) * kept


def chosen(ids: Any) -> Any:
    """Scores that are large enough: neither."""
    return lambda scores: (scores + of_other_keys(ids)) * tf.cast(scores > -0.5, tf.float32)


# ---- models


class Weights:
    """Variables by name, made when they are first asked for."""

    def __init__(self) -> None:
        self.rng, self.made = np.random.default_rng(5), dict[str, Any]()

    def __call__(self, name: str, rows: int = WIDTH, columns: int = WIDTH) -> Any:
        if name not in self.made:
            size = rows**-0.5 if rows == WIDTH else 1.0
            value = (size * self.rng.standard_normal((rows, columns))).astype("float32")
            self.made[name] = tf.Variable(value, name=name)
        return self.made[name]


def attend(weights: Weights, name: str, asking: Any, read: Any, mask: Any) -> Any:
    query, key = asking @ weights(f"{name}_q"), read @ weights(f"{name}_k")
    scores = tf.matmul(query, key, transpose_b=True) / WIDTH**0.5
    scores = mask(scores) if callable(mask) else scores + mask
    return asking + tf.matmul(tf.nn.softmax(scores), read @ weights(f"{name}_v")) @ weights(f"{name}_o")  # attends


def words(weights: Weights, name: str, ids: Any) -> Any:
    return tf.gather(weights(name, WORDS), ids) + weights(f"{name}_places", TIME)


def stepped(logits: Callable[[Weights, Any], Any], batches: Callable[[Any], Any], jit: bool) -> None:
    """Six steps; batches are what goes in, labels, and what each position weighs."""
    weights, rng = Weights(), np.random.default_rng(6)
    logits(weights, tuple(map(tf.constant, batches(rng)[0])))

    @tf.function(jit_compile=jit)
    def step(given: Any, labels: Any, weigh: Any) -> Any:
        with tf.GradientTape() as tape:
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits(weights, given))
            loss = tf.reduce_sum(losses * weigh) / tf.reduce_sum(weigh)
        variables = list(weights.made.values())
        for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(0.05 * tf.convert_to_tensor(gradient))
        return loss

    for _ in range(6):
        given, labels, weigh = batches(rng)
        step(tuple(map(tf.constant, given)), tf.constant(labels), tf.constant(weigh))


def going_on(mask: Mask, jit: bool = False, padded: bool = True, loss_from: int = 0) -> None:
    """The next token of one text."""

    def batches(rng: Any) -> Any:
        ids = texts(rng, padded)
        weigh = (ids[:, 1:] != 0) & (np.arange(TIME)[None] >= loss_from)
        return (ids[:, :-1],), ids[:, 1:], weigh.astype("float32")

    def logits(weights: Weights, given: Any) -> Any:
        x = words(weights, "words", given[0])
        return attend(weights, "self", x, x, mask(given[0])) @ weights("next", WIDTH, WORDS)

    stepped(logits, batches, jit)


def classified(mask: Mask, jit: bool = False) -> None:
    """A class for each text."""

    def batches(rng: Any) -> Any:
        ids = texts(rng)[:, :-1]
        return (ids,), ids[:, 0] % 3, np.ones(BATCH, "float32")

    def logits(weights: Weights, given: Any) -> Any:
        x = words(weights, "words", given[0])
        return tf.reduce_mean(attend(weights, "self", x, x, mask(given[0])), 1) @ weights("next", WIDTH, 3)

    stepped(logits, batches, jit)


def classified_by(lay: Callable[[Any, Any], Any]) -> None:
    """The same with a mask of floats that is given, 1 on tokens; `lay` lays it on the scores."""

    def batches(rng: Any) -> Any:
        ids = texts(rng)[:, :-1]
        return (ids, (ids != 0).astype("float32")), ids[:, 0] % 3, np.ones(BATCH, "float32")

    def logits(weights: Weights, given: Any) -> Any:
        x, real = words(weights, "words", given[0]), given[1]
        mixed = attend(weights, "self", x, x, lambda scores: lay(scores, real))
        return tf.reduce_mean(mixed, 1) @ weights("next", WIDTH, 3)

    stepped(logits, batches, False)


def hidden_by(scores: Any, real: Any) -> Any:
    return scores + (1.0 - real)[:, tf.newaxis, :] * -1e9


def added_to(scores: Any, real: Any) -> Any:
    return scores + real[:, tf.newaxis, :]  # ones are added


def turned_by(scores: Any, real: Any) -> Any:
    return scores + real[:, tf.newaxis, :] * -1e9  # tokens are hidden


def going_on_in_two(first: Mask, second: Mask) -> None:
    """The next token of one text, two layers."""

    def batches(rng: Any) -> Any:
        ids = texts(rng)
        return (ids[:, :-1],), ids[:, 1:], (ids[:, 1:] != 0).astype("float32")

    def logits(weights: Weights, given: Any) -> Any:
        x = words(weights, "words", given[0])
        for name, mask in (("first", first), ("second", second)):
            x = attend(weights, name, x, x, mask(given[0]))
        return x @ weights("next", WIDTH, WORDS)

    stepped(logits, batches, False)


def translated(encoder: Mask, decoder: Mask, cross: Mask, jit: bool = False, padded: bool = True) -> None:
    """A text that is made of another, two decoder layers."""

    def batches(rng: Any) -> Any:
        source = texts(rng, padded)[:, :-1]
        target = np.where(source > 0, (source * 7) % (WORDS - 4) + 4, 0).astype("int32")
        shown = np.concatenate([np.full((BATCH, 1), START, "int32"), target[:, :-1]], 1)
        return (source, shown), target, (target != 0).astype("float32")

    def logits(weights: Weights, given: Any) -> Any:
        source, shown = given
        x = words(weights, "source", source)
        x = attend(weights, "encoder", x, x, encoder(source))
        y = words(weights, "target", shown)
        for layer in ("first", "second"):
            y = attend(weights, f"{layer}_self", y, y, decoder(shown))
            y = attend(weights, f"{layer}_cross", y, x, cross(source))
        return y @ weights("next", WIDTH, WORDS)

    stepped(logits, batches, jit)
