"""Attention of every kind: learned queries, one query, caches, additive; and what looks like it and is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf
from tests.compat import kerases
from tests.compat.kerases import KERASES
from tests.compat.test_attention import X, found, layers_of

from tensorsleuth.recording.structure.attention import DEFAULT_ROW_AXIS, NO_ROW_AXIS

HEADED = tf.ones([2, 7, 2, 4])
QUERY, QUERIES = tf.Variable(tf.ones([8])), tf.Variable(tf.ones([1, 3, 8]))
COLUMN, KERNEL = tf.Variable(tf.ones([8, 1])), tf.Variable(tf.ones([8, 5]))
CACHE = tf.Variable(tf.ones([2, 7, 8]), trainable=False)
softmax = tf.nn.softmax


def against(query: Any, x: Any) -> Any:
    return tf.matmul(softmax(tf.matmul(query, x, transpose_b=True)), x)


def over_time(scores: Any, x: Any) -> Any:
    """Weights [batch, time, 1]."""
    return tf.reduce_sum(softmax(scores, axis=1) * x, 1)


def from_cache(x: Any) -> Any:
    CACHE.assign(tf.concat([CACHE[:, 1:], x[:, :1]], 1))
    return against(x[:, :1], CACHE)


def of_many_heads(x: Any) -> Any:
    """One key and value for all heads."""
    query, key = tf.transpose(tf.reshape(x, [2, 7, 2, 4]), [0, 2, 1, 3]), x[:, None, :, :4]
    return tf.matmul(softmax(tf.matmul(query, key, transpose_b=True)), key)


LEARNED: dict[str, Callable[[Any], Any]] = {
    "query": lambda x: against(QUERIES, x),
    "spread": lambda x: against(tf.broadcast_to(QUERIES, [2, 3, 8]), x),
    "repeated": lambda x: against(tf.repeat(QUERIES, tf.shape(x)[0], axis=0), x),
    "column": lambda x: over_time(tf.matmul(tf.tanh(x), COLUMN), x),
    "squeezed": lambda x: tf.reduce_sum(softmax(tf.squeeze(tf.matmul(x, COLUMN), -1))[..., None] * x, 1),
    "sliced": lambda x: tf.matmul(softmax(tf.matmul(x, COLUMN)[..., 0])[:, None], x),
    "turned": lambda x: tf.matmul(softmax(tf.matmul(x, COLUMN), axis=1), x, transpose_a=True),
}
OF_DATA: dict[str, Callable[[Any], Any]] = {
    "one query": lambda x: against(x[:, :1], x),
    "one vector": lambda x: tf.linalg.matvec(x, softmax(tf.linalg.matvec(x, x[:, 0])), transpose_a=True),
    "cache": from_cache,
    "one key for all heads": of_many_heads,
    "added up": lambda x: tf.reduce_sum(softmax(tf.reduce_sum(x * x[:, :1], -1))[..., None] * x, 1),
    "additive": lambda x: over_time(tf.matmul(tf.tanh(x[:, :1] + x), COLUMN), x),
    "additive for each query": lambda x: tf.matmul(softmax(tf.reduce_sum(tf.tanh(x[:, :, None] + x[:, None]), -1)), x),
}


@pytest.mark.parametrize("kind", [*LEARNED, *OF_DATA])
def test_attention_of_every_kind(kind: str) -> None:
    assert found((LEARNED | OF_DATA)[kind], X) == [("Softmax", DEFAULT_ROW_AXIS)]


@pytest.mark.parametrize(
    ("scores", "values", "query"),
    [("bhd,bthd->bht", "bht,bthd->bhd", HEADED[:, 0]), ("hd,bthd->bht", "bht,bthd->bhd", tf.Variable(HEADED[0, 0]))],
    ids=["of data", "learned"],
)
def test_one_query_without_an_axis(scores: str, values: str, query: Any) -> None:
    def call(x: Any) -> Any:
        return tf.einsum(
            values, softmax(tf.einsum(scores, query + 0 * x[0, 0, 0, 0] if query.shape.rank > 2 else query, x)), x
        )

    assert found(call, HEADED) == [("Softmax", NO_ROW_AXIS)]


@pytest.mark.parametrize("name", KERASES)
def test_additive_attention_of_keras(name: str) -> None:
    layer = kerases.load(name).layers.AdditiveAttention(name="added")
    assert layers_of(lambda x: layer([x, x]), X) == ["added"]


def entropy(weights: Any) -> Any:
    return tf.reduce_sum(weights * tf.math.log(weights), 1)


def experts(x: Any) -> Any:
    return tf.stack([x * number for number in range(5)], 2)


OTHERS: dict[str, Callable[[Any], Any]] = {
    "log likelihood": lambda x: tf.reduce_sum(tf.math.log(softmax(tf.matmul(x, KERNEL))) * tf.ones([2, 7, 5]), -1),
    "expectation": lambda x: tf.reduce_sum(softmax(tf.matmul(x, KERNEL)) * tf.range(5.0), -1),
    "experts": lambda x: tf.reduce_sum(softmax(tf.matmul(x, KERNEL))[..., None] * experts(x), 2),
    "experts by einsum": lambda x: tf.einsum("bte,bted->btd", softmax(tf.matmul(x, KERNEL)), experts(x)),
    "pooled by class": lambda x: tf.matmul(softmax(tf.matmul(x, KERNEL)), x, transpose_a=True),
    "table": lambda x: tf.matmul(softmax(tf.matmul(x, tf.transpose(QUERIES[0]))), QUERIES[0]),
    "gate": lambda x: tf.reduce_sum(softmax(x * QUERY) * x, -1),
    "place of the peak": lambda x: tf.reduce_sum(softmax(tf.reshape(tf.matmul(x, COLUMN), [2, 7])) * tf.range(7.0), -1),
    "entropy": lambda x: entropy(softmax(tf.matmul(x, COLUMN), axis=1)),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_what_looks_like_it(kind: str) -> None:
    assert found(OTHERS[kind], X) == []
