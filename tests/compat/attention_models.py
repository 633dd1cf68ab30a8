"""Small models with attention by hand, as people write it: right ones of many kinds, and wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

BATCH, TIME, WIDTH, HEADS, DEPTH, WORDS = 8, 12, 64, 4, 16, 20
Weights = dict[str, Any]
Read = Callable[[Any, Weights], Any]


def trained(read: Read, time: int = TIME, jit: bool = False) -> None:
    """Four steps of a model of one block: what `read` makes of [batch, time, width] and of four projections."""
    rng = np.random.default_rng(7)
    made: Weights = {name: _variable(rng, (WIDTH, WIDTH), WIDTH**-0.5, name) for name in ("q", "k", "v", "o")}
    made["words"] = _variable(rng, (WORDS, WIDTH), 1.0, "words")
    made["next"] = _variable(rng, (WIDTH, WORDS), 0.1, "next")
    made["heat"] = _variable(rng, (HEADS, 1, 1), 0.1, "heat")
    made["near"] = _variable(rng, (2 * time - 1, HEADS), 0.1, "near")

    @tf.function(jit_compile=jit)
    def step(ids: Any, wanted: Any) -> Any:
        with tf.GradientTape() as tape:
            x = tf.gather(made["words"], ids)
            logits = tf.reduce_mean(x, 1) @ made["next"] + tf.reduce_mean(read(x, made), 1) @ made["next"]
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(wanted, logits)
            loss = tf.reduce_mean(losses)
        variables = list(made.values())
        for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
            if gradient is not None:
                variable.assign_sub(0.05 * tf.convert_to_tensor(gradient))
        return loss

    for _ in range(4):
        ids = rng.integers(0, WORDS, (BATCH, time)).astype("int32")
        step(tf.constant(ids), tf.constant(ids[:, 0]))


def _variable(rng: Any, shape: tuple[int, ...], size: float, name: str) -> Any:
    return tf.Variable((size * rng.standard_normal(shape)).astype("float32"), name=name)


def projected(x: Any, made: Weights) -> list[Any]:
    return [tf.einsum("bte,ef->btf", x, made[name]) for name in "qkv"]


def heads(x: Any) -> Any:
    return tf.transpose(tf.reshape(x, (-1, x.shape[1], HEADS, DEPTH)), (0, 2, 1, 3))


def together(x: Any, made: Weights) -> Any:
    turned = tf.transpose(x, (0, 2, 1, 3))
    return tf.reshape(turned, (-1, turned.shape[1], WIDTH)) @ made["o"]


def scaled(x: Any, made: Weights, times: Any = DEPTH**-0.5, bias: Any = 0.0) -> Any:
    query, key, value = map(heads, projected(x, made))
    scores = tf.matmul(query, key, transpose_b=True) * times  # scaled
    return together(tf.matmul(tf.nn.softmax(scores + bias), value), made)


# ---- right


def alibi(x: Any, made: Weights) -> Any:
    places = np.arange(TIME)
    slopes = 2.0 ** -np.arange(1, HEADS + 1)
    far = np.abs(places[:, None] - places).astype("float32")
    bias = np.where(places[:, None] >= places, -slopes[:, None, None] * far, -1e9).astype("float32")
    return scaled(x, made, bias=bias)


def relative(x: Any, made: Weights) -> Any:
    places = np.arange(TIME)
    bias = tf.transpose(tf.gather(made["near"], places[:, None] - places + TIME - 1), (2, 0, 1))
    return scaled(x, made, bias=bias)


def small_weights(x: Any, made: Weights) -> Any:
    """T5: no scale, weights that begin small."""
    query, key, value = map(heads, projected(0.2 * x, made))
    return together(tf.matmul(tf.nn.softmax(tf.matmul(query, key, transpose_b=True)), value), made)


def cosine(x: Any, made: Weights, times: Any = 30.0) -> Any:
    query, key, value = map(heads, projected(x, made))
    query, key = tf.math.l2_normalize(query, -1), tf.math.l2_normalize(key, -1)
    return together(tf.matmul(tf.nn.softmax(tf.matmul(query, key, transpose_b=True) * times), value), made)


def cosine_learned(x: Any, made: Weights) -> Any:
    return cosine(x, made, 30.0 * tf.exp(made["heat"]))


def sharp(x: Any, made: Weights) -> Any:
    """As after long training: scores far apart, with the usual scale."""
    return scaled(6.0 * tf.stop_gradient(x) + 0.0 * x, made)


def linear(x: Any, made: Weights) -> Any:
    query, key, value = (tf.nn.elu(heads(one)) + 1.0 for one in projected(x, made))
    kept = tf.matmul(key, value, transpose_a=True)
    return together(tf.matmul(query, kept) / tf.reduce_sum(query, -1, keepdims=True), made)


def windows(x: Any, made: Weights) -> Any:
    """Four positions see each other."""
    parts = [tf.reshape(one, (-1, TIME // 4, 4, HEADS, DEPTH)) for one in projected(x, made)]
    query, key, value = (tf.transpose(one, (0, 1, 3, 2, 4)) for one in parts)
    weights = tf.nn.softmax(tf.matmul(query, key, transpose_b=True) / DEPTH**0.5)
    read = tf.transpose(tf.matmul(weights, value), (0, 1, 3, 2, 4))
    return tf.reshape(read, (-1, TIME, WIDTH)) @ made["o"]


def more_tokens(x: Any, made: Weights) -> Any:
    """Every position makes two, of half the width."""
    query, key, value = (tf.reshape(one, (-1, 2 * TIME, WIDTH // 2)) for one in projected(x, made))
    weights = tf.nn.softmax(tf.matmul(query, key, transpose_b=True) / (WIDTH / 2) ** 0.5)
    return tf.reshape(tf.matmul(weights, value), (-1, TIME, WIDTH)) @ made["o"]


def among_heads(x: Any, made: Weights) -> Any:
    """The heads of each position see each other."""
    query, key, value = (tf.reshape(one, (-1, TIME, HEADS, DEPTH)) for one in projected(x, made))
    weights = tf.nn.softmax(tf.matmul(query, key, transpose_b=True) / DEPTH**0.5)
    return tf.reshape(tf.matmul(weights, value), (-1, TIME, WIDTH)) @ made["o"]


def among_features(x: Any, made: Weights) -> Any:
    """Features see each other, over all positions."""
    query, key, value = map(heads, projected(x, made))
    weights = tf.nn.softmax(tf.matmul(query, key, transpose_a=True) / TIME**0.5)
    return together(tf.matmul(value, weights, transpose_b=True), made)


def folded_heads(x: Any, made: Weights) -> Any:
    """Heads beside samples, as older code has them."""
    query, key, value = (tf.concat(tf.split(one, HEADS, -1), 0) for one in projected(x, made))
    read = tf.matmul(tf.nn.softmax(tf.matmul(query, key, transpose_b=True) / DEPTH**0.5), value)
    return tf.concat(tf.split(read, HEADS, 0), -1) @ made["o"]


def slices(x: Any, made: Weights) -> Any:
    """One product for all three, cut apart."""
    parts = tf.concat(projected(x, made), -1)
    cut = (parts[..., at * WIDTH : (at + 1) * WIDTH] for at in range(3))
    query, key, value = map(heads, cut)
    weights = tf.nn.softmax(tf.matmul(query, key, transpose_b=True) / DEPTH**0.5)
    return together(tf.matmul(weights, value), made)


def time_first(x: Any, made: Weights) -> Any:
    """[time, batch, width], as in other frameworks."""
    rows = (tf.transpose(one, (1, 0, 2)) for one in projected(x, made))
    query, key, value = (tf.transpose(tf.reshape(one, (TIME, -1, DEPTH)), (1, 0, 2)) for one in rows)
    read = tf.matmul(tf.nn.softmax(tf.matmul(query, key, transpose_b=True) / DEPTH**0.5), value)
    return tf.transpose(tf.reshape(tf.transpose(read, (1, 0, 2)), (TIME, -1, WIDTH)), (1, 0, 2)) @ made["o"]


def masked_again(x: Any, made: Weights) -> Any:
    """Scores and weights times a mask, and weights that sum to one again."""
    query, key, value = map(heads, projected(x, made))
    past = tf.linalg.band_part(tf.ones((TIME, TIME)), -1, 0)
    weights = tf.nn.softmax(tf.matmul(query, key, transpose_b=True) / DEPTH**0.5 * past) * past
    return together(tf.matmul(weights / tf.reduce_sum(weights, -1, keepdims=True), value), made)


def picked_again(x: Any, made: Weights) -> Any:
    query, key, value = map(heads, projected(x, made))
    past = tf.linalg.band_part(tf.ones((TIME, TIME)), -1, 0)
    weights = tf.nn.softmax(tf.matmul(query, key, transpose_b=True) / DEPTH**0.5 * past)
    return together(tf.matmul(tf.where(past > 0.0, weights, 0.0), value), made)


# ---- wrong


def merged_at_once(x: Any, made: Weights) -> Any:
    query, key, value = map(heads, projected(x, made))
    read = tf.matmul(tf.nn.softmax(tf.matmul(query, key, transpose_b=True) / DEPTH**0.5), value)
    return tf.reshape(read, (-1, x.shape[1], WIDTH)) @ made["o"]  # merged


def merged_of_equations(x: Any, made: Weights) -> Any:
    query, key, value = map(heads, projected(x, made))
    weights = tf.nn.softmax(tf.einsum("bhqd,bhkd->bhqk", query, key) / DEPTH**0.5)
    read = tf.reshape(tf.einsum("bhqk,bhkd->bhqd", weights, value), (-1, x.shape[1], WIDTH))  # merged einsum
    return tf.einsum("bte,ef->btf", read, made["o"])


def split_at_once(x: Any, made: Weights) -> Any:
    sizes = tf.shape(x)
    shape = (sizes[0], HEADS, sizes[1], DEPTH)
    query, key, value = (tf.reshape(one, shape) for one in projected(x, made))  # split
    read = tf.matmul(tf.nn.softmax(tf.matmul(query, key, transpose_b=True) / DEPTH**0.5), value)
    return together(tf.ensure_shape(read, (None, HEADS, x.shape[1], DEPTH)), made)


def times_root(x: Any, made: Weights) -> Any:
    return scaled(x, made, DEPTH**0.5)


def times_root_of_shape(x: Any, made: Weights) -> Any:
    query, key, value = map(heads, projected(x, made))
    root = tf.sqrt(tf.cast(tf.shape(key)[-1], tf.float32))
    scores = tf.matmul(query, key, transpose_b=True) * root  # root of shape
    return together(tf.matmul(tf.nn.softmax(scores), value), made)


def queries_times_root(x: Any, made: Weights) -> Any:
    query, key, value = map(heads, projected(x, made))
    query = query / DEPTH**-0.5  # queries
    return together(tf.matmul(tf.nn.softmax(tf.matmul(query, key, transpose_b=True)), value), made)


def unscaled(x: Any, made: Weights) -> Any:
    query, key, value = map(heads, projected(2.0 * x, made))
    scores = tf.matmul(query, key, transpose_b=True)  # unscaled
    return together(tf.matmul(tf.nn.softmax(scores), value), made)
