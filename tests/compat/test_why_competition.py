"""A softmax over another axis than the sum runs along: a slip in attention, and meant where outputs compete."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat import attention_models as models
from tests.compat.attention_models import DEPTH, HEADS, TIME, WIDTH, Weights, heads, projected, together
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
CAPSULES = 4
SLOTS = np.random.default_rng(4).normal(size=(3, WIDTH)).astype("float32")


def told(trace: Trace) -> list[tuple[str, str, int | None]]:
    found = tensorsleuth.diagnose(trace)
    return [(one.cause, one.severity, one.line) for one in (*found.findings, *found.notes)]


# ---- competition that is meant


def votes(x: Any, made: Weights) -> Any:
    """Return what each input votes for each capsule: [batch, capsules, inputs, depth]."""
    return heads(tf.einsum("bte,ef->btf", x, made["v"]))


def squashed(x: Any) -> Any:
    size = tf.reduce_sum(x * x, -1, keepdims=True)
    return size / (1.0 + size) * x * tf.math.rsqrt(size + 1e-7)


def back(capsules: Any, made: Weights) -> Any:
    """Return the capsules as one position: [batch, 1, width]."""
    return tf.reshape(capsules, (-1, 1, WIDTH)) @ made["o"]


def routed(x: Any, made: Weights) -> Any:
    given = votes(x, made)
    logits = tf.zeros((tf.shape(x)[0], CAPSULES, 1, TIME))
    for at in range(3):
        capsules = squashed(tf.matmul(tf.nn.softmax(logits, axis=1), given))
        logits += tf.matmul(capsules, given, transpose_b=True) if at < 2 else 0.0
    return back(capsules, made)


def routed_in_a_loop(x: Any, made: Weights) -> Any:
    given = votes(x, made)
    shape = (tf.shape(x)[0], CAPSULES, 1)
    logits, capsules = tf.zeros((*shape, TIME)), tf.zeros((*shape, DEPTH))
    for _ in tf.range(3):
        capsules = squashed(tf.matmul(tf.nn.softmax(logits, axis=1), given))
        logits += tf.matmul(capsules, given, transpose_b=True)
    return back(capsules, made)


def routed_from_a_mean(x: Any, made: Weights) -> Any:
    """The first round is a mean, and gradients pass through the last one only."""
    given = votes(x, made)
    still = tf.stop_gradient(given)
    capsules = squashed(tf.reduce_mean(still, axis=2, keepdims=True))
    weights = tf.nn.softmax(tf.einsum("bcid,bctd->bcit", capsules, still), axis=1)
    return back(squashed(tf.einsum("bcit,bctd->bcid", weights, given)), made)


def slots(x: Any, made: Weights, rounds: int, divided: bool) -> Any:
    key, value = (tf.einsum("bte,ef->btf", x, made[name]) for name in "kv")
    states = tf.tile(tf.constant(SLOTS)[None], (tf.shape(x)[0], 1, 1))
    for _ in range(rounds):
        query = tf.einsum("bse,ef->bsf", states, made["q"])
        weights = tf.nn.softmax(tf.matmul(query, key, transpose_b=True) / WIDTH**0.5, axis=1)
        update = tf.matmul(weights, value)
        states = tf.tanh(states + (update / tf.reduce_sum(weights, -1, keepdims=True) if divided else update))
    return states @ made["o"]


def slots_in_rounds(x: Any, made: Weights) -> Any:
    return slots(x, made, 2, divided=True)


def slots_divided_late(x: Any, made: Weights) -> Any:
    return slots(x, made, 1, divided=True)


def clusters_of_a_graph(x: Any, made: Weights) -> Any:
    """DiffPool: nodes are pooled into clusters, and each node is shared out among these."""
    x = tf.tanh(x)
    near = tf.stop_gradient(tf.cast(tf.abs(x[:, :, None, 0] - x[:, None, :, 0]) < 1, tf.float32))
    shares = tf.nn.softmax(tf.matmul(near, tf.einsum("bte,ef->btf", x, made["q"][:, :5])), axis=-1)
    return tf.matmul(shares, x, transpose_a=True) @ made["o"]


def both_ways(x: Any, made: Weights) -> Any:
    """QANet: the product of two softmaxes of the same scores, over either axis."""
    first, second, _ = projected(x, made)
    scores = tf.matmul(first, second, transpose_b=True) / WIDTH**0.5
    there, again = tf.nn.softmax(scores, axis=2), tf.nn.softmax(scores, axis=1)
    return tf.matmul(tf.matmul(there, again, transpose_b=True), first) @ made["o"]


MEANT = (
    routed, routed_in_a_loop, routed_from_a_mean, slots_in_rounds, slots_divided_late, clusters_of_a_graph, both_ways,
)  # fmt: skip


@pytest.mark.parametrize("read", MEANT, ids=lambda read: read.__name__)
def test_competition_that_is_meant(recorded: Recorded, read: models.Read) -> None:
    assert [one for one in told(recorded(lambda: models.trained(read))) if one[0] == "softmax-axis"] == []


def test_one_round_of_slots_is_a_note(recorded: Recorded) -> None:
    found = told(recorded(lambda: models.trained(lambda x, made: slots(x, made, 1, divided=False))))
    assert [one[:2] for one in found if one[0] == "softmax-axis"] == [("softmax-axis", "note")]


# ---- slips


def over_queries(x: Any, made: Weights) -> Any:
    query, key, value = map(heads, projected(x, made))
    scores = tf.matmul(query, key, transpose_b=True) / DEPTH**0.5
    return together(tf.matmul(tf.nn.softmax(scores, axis=2), value), made)  # over queries


def over_heads(x: Any, made: Weights) -> Any:
    query, key, value = map(heads, projected(x, made))
    scores = tf.matmul(query, key, transpose_b=True) / DEPTH**0.5
    return together(tf.matmul(tf.nn.softmax(scores, axis=1), value), made)  # over heads


def over_queries_twice(x: Any, made: Weights) -> Any:
    """Two layers share their weights: what the second one sums up is not what the first one did."""
    for _ in range(2):
        query, key, value = projected(x, made)
        scores = tf.matmul(query, key, transpose_b=True) / WIDTH**0.5
        x += tf.matmul(tf.nn.softmax(scores, axis=1), value) @ made["o"]  # twice
    return x


def over_queries_in_a_loop(x: Any, made: Weights) -> Any:
    for _ in tf.range(2):
        query, key, value = projected(x, made)
        scores = tf.matmul(query, key, transpose_b=True) / WIDTH**0.5
        x += tf.matmul(tf.nn.softmax(scores, axis=1), value) @ made["o"]  # in a loop
    return x


def turned_product(x: Any, made: Weights) -> Any:
    query, key, value = projected(x, made)
    weights = tf.nn.softmax(tf.matmul(query, key, transpose_b=True) / WIDTH**0.5)  # turned product
    return tf.matmul(weights, value, transpose_a=True) @ made["o"]


def unprojected(x: Any, made: Weights) -> Any:
    x = tf.tanh(x)
    weights = tf.nn.softmax(tf.matmul(x, x, transpose_b=True) / WIDTH**0.5, axis=1)  # unprojected
    return tf.matmul(weights, x) @ made["o"]


def of_two_texts(x: Any, made: Weights) -> Any:
    first, second = x[:, : TIME // 2] + tf.roll(x[:, TIME // 2 :], 1, 0), tf.tanh(x[:, TIME // 2 :])
    query, (_, key, value) = projected(first, made)[0], projected(second, made)
    scores = tf.matmul(query, key, transpose_b=True) / WIDTH**0.5
    return tf.matmul(tf.nn.softmax(scores, axis=1), value) @ made["o"]  # of two texts


SLIPS = (
    over_queries, over_heads, over_queries_twice, over_queries_in_a_loop, turned_product, unprojected, of_two_texts,
)  # fmt: skip


@pytest.mark.parametrize("read", SLIPS, ids=lambda read: read.__name__)
def test_attention_over_another_axis(recorded: Recorded, read: models.Read) -> None:
    assert HEADS == CAPSULES
    found = [one for one in told(recorded(lambda: models.trained(read))) if one[0] == "softmax-axis"]
    names = {"over_queries_twice": "twice", "over_queries_in_a_loop": "in a loop"}
    assert found == [("softmax-axis", "error", marked(names.get(read.__name__, read.__name__.replace("_", " "))))]
