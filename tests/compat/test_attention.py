"""Attention is found by what it computes: in every Keras, written by hand, in public models; and nothing else is."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf
from tests.compat import kerases
from tests.compat.kerases import KERASES

from tensorsleuth.recording.functions.function_def import read_definition
from tensorsleuth.recording.structure.attention import DEFAULT_ROW_AXIS, find_attention

X = tf.ones([2, 7, 8])
IDS = tf.constant([[1, 2, 3, 4, 5], [5, 4, 3, 0, 0]])
MASK = tf.constant([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
HUB = pytest.mark.skipif(importlib.util.find_spec("keras_hub") is None, reason="keras-hub is not installed")
LONG = pytest.mark.long
FACE = pytest.mark.skipif(importlib.util.find_spec("transformers") is None, reason="transformers is not installed")


def found(call: Callable[..., Any], *given: Any) -> list[tuple[str, int]]:
    """Name and row axis of each attention, in the forward pass and in a function that differentiates it."""

    def trains(*inputs: Any) -> Any:
        with tf.GradientTape() as tape:
            floats = [one for one in inputs if not isinstance(one, dict) and one.dtype.is_floating]
            tape.watch(floats)
            loss = tf.reduce_sum(call(*inputs))
        return tape.gradient(loss, floats)

    plain = _in(tf.function(call), *given)
    assert [name for name, _ in _in(tf.function(trains), *given)] == [name for name, _ in plain]
    return plain


def _in(function: Any, *given: Any) -> list[tuple[str, int]]:
    definition = read_definition(function.get_concrete_function(*given).function_def)
    return [(one.name, one.row_axis) for one in find_attention(definition)]


def layers_of(call: Callable[..., Any], *given: Any) -> list[str]:
    """The last scope of each, less what TensorFlow adds to it."""
    names = (name.split("/")[-1] for name, _ in found(call, *given))
    return [name.rstrip("_0123456789") for name in names]


@pytest.mark.parametrize("name", KERASES)
@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize(
    "how",
    [{}, {"use_causal_mask": True}, {"attention_mask": tf.ones([2, 7, 7], tf.bool)}],
    ids=["plain", "causal", "mask"],
)
def test_multi_head_attention(name: str, dropout: float, how: dict[str, Any]) -> None:
    layer = kerases.load(name).layers.MultiHeadAttention(2, 4, dropout=dropout, name="mha")
    assert layers_of(lambda x: layer(x, x, training=True, **how), X) == ["mha"]


@pytest.mark.parametrize("name", KERASES)
def test_behind_a_loop(name: str) -> None:
    """The gradient of a loop hands the loop lists to keep values in: what comes after it is no backward pass."""
    layers = kerases.load(name).layers
    recurrent, layer = layers.GRU(8, return_sequences=True), layers.MultiHeadAttention(2, 4, name="mha")
    assert layers_of(lambda x: layer(x, recurrent(x)), X) == ["mha"]


@pytest.mark.parametrize("name", KERASES)
def test_dot_product_attention_of_one_head(name: str) -> None:
    layer = kerases.load(name).layers.Attention(name="dots")
    assert layers_of(lambda x: layer([x, x]), X) == ["dots"]


@pytest.mark.skipif(not hasattr(tf.keras.layers, "GroupQueryAttention"), reason="Keras 2 has none")
@pytest.mark.parametrize("flash", [None, False])
def test_grouped_queries(flash: bool | None) -> None:
    layer = tf.keras.layers.GroupQueryAttention(4, 4, 2, flash_attention=flash, name="groups")
    assert layers_of(lambda x: layer(x, x), X) == ["groups"]


def by_products(x: Any) -> Any:
    scores = tf.matmul(x, x + 1, transpose_b=True) * 0.25
    scores = tf.where(tf.linalg.band_part(tf.ones_like(scores), -1, 0) > 0, scores, -1e9)
    return tf.matmul(tf.nn.dropout(tf.nn.softmax(scores), 0.5), x)


def written_out(x: Any) -> Any:
    scores = tf.matmul(x, x, transpose_b=True)
    powers = tf.exp(scores - tf.reduce_max(scores, -1, keepdims=True))
    return tf.matmul(powers / tf.reduce_sum(powers, -1, keepdims=True), x)


def half_precision(x: Any) -> Any:
    scores = tf.matmul(tf.cast(x, tf.float16), tf.cast(x, tf.float16), transpose_b=True)
    return tf.matmul(tf.cast(tf.nn.softmax(tf.cast(scores, tf.float32)), tf.float16), tf.cast(x, tf.float16))


@tf.custom_gradient
def dropped(x: Any) -> Any:
    return tf.where(x > 0.01, x, 0.0) * 1.1, lambda slope: slope * 1.1


def own_gradient(x: Any) -> Any:
    """As DeBERTa drops weights out."""
    return tf.matmul(dropped(tf.nn.softmax(tf.matmul(x, x, transpose_b=True))), x)


def capped(x: Any) -> Any:
    scores = 5 * tf.tanh(tf.matmul(x, x, transpose_b=True) / 5)
    return tf.matmul(tf.nn.softmax(scores), x)


@pytest.mark.parametrize("call", [by_products, written_out, half_precision, own_gradient, capped])
def test_written_by_hand(call: Callable[..., Any]) -> None:
    [(_, axis)] = found(call, X)
    assert axis == DEFAULT_ROW_AXIS


@pytest.mark.parametrize(
    ("scores", "values", "axis"),
    [("bqhd,bkhd->bhqk", "bhqk,bkhd->bqhd", 2), ("bqhd,bkhd->bqhk", "bqhk,bkhd->bqhd", 1)],
)
def test_equations_say_where_the_queries_are(scores: str, values: str, axis: int) -> None:
    x = tf.ones([2, 7, 3, 4])
    [(_, seen)] = found(lambda x: tf.einsum(values, tf.nn.softmax(tf.einsum(scores, x, x)), x), x)
    assert seen == axis


def classifier(x: Any) -> Any:
    return tf.nn.softmax(tf.matmul(x, KERNEL)) @ tf.ones([5, 2])


def router(x: Any) -> Any:
    """A mixture of experts: what chooses among them is a layer, not a comparison of data with data."""
    return tf.einsum("bte,bed->btd", tf.nn.softmax(tf.einsum("btd,de->bte", x, KERNEL)), x[:, :5])


def softmax_at_the_end(x: Any) -> Any:
    return tf.nn.softmax(tf.matmul(x, x, transpose_b=True))


KERNEL = tf.Variable(tf.ones([8, 5]))


@pytest.mark.parametrize("call", [classifier, router, softmax_at_the_end])
def test_what_is_no_attention(call: Callable[..., Any]) -> None:
    assert found(call, X) == []


@pytest.mark.parametrize("name", KERASES)
def test_the_softmax_of_a_layer_is_none(name: str) -> None:
    assert found(kerases.load(name).layers.Dense(3, activation="softmax"), X) == []


@HUB
@pytest.mark.parametrize("name", ["Bert", pytest.param("GPT2", marks=LONG), "Llama", pytest.param("Gemma", marks=LONG)])
def test_models_of_keras_hub(name: str) -> None:
    import keras_hub

    sizes = {"vocabulary_size": 9, "num_layers": 2, "hidden_dim": 8, "intermediate_dim": 16}
    grouped = {"num_query_heads": 4, "num_key_value_heads": 2} | ({"head_dim": 4} if name == "Gemma" else {})
    more = grouped if name in ("Llama", "Gemma") else {"num_heads": 2, "max_sequence_length": 8}
    model = getattr(keras_hub.models, f"{name}Backbone")(**sizes, **more)
    given = {"token_ids": IDS, "padding_mask": MASK} | ({"segment_ids": 0 * IDS} if name == "Bert" else {})
    results = lambda given: model(given, training=True)  # noqa: E731
    names = [layer for layer, _ in _in(tf.function(results), given)]
    assert len(names) == 2 and all("attention" in layer.rpartition("/")[2] for layer in names)


@FACE
@LONG  # the gallery trains three of these models in `make test`
@pytest.mark.parametrize(
    ("name", "last"), [("Bert", "attention/self"), ("GPT2", "attn"), ("Deberta", "attention/self")]
)
def test_models_of_hugging_face(name: str, last: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "1")  # transformers sets it permanently, and later tests must not see it
    import transformers

    width = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    sizes = {"n_embd": 8, "n_layer": 2, "n_head": 2} if name == "GPT2" else width
    config = getattr(transformers, f"{name}Config")(vocab_size=9, **sizes)
    model = getattr(transformers, f"TF{name}Model")(config)
    results = tf.function(lambda ids: model(ids, training=True).last_hidden_state)
    names = [layer for layer, _ in _in(results, IDS)]
    assert len(names) == 2 and all(layer.endswith(last) for layer in names)
