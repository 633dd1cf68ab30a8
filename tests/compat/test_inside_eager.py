"""Looks into a model that runs eagerly see what they see in traced functions, under the same names."""

from __future__ import annotations

import gc
import importlib.util
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat import kerases
from tests.compat.kerases import KERASES
from tests.compat.test_inside import IDS, LABELS, X, agrees
from tests.compat.test_inside_flow import Block
from tests.compat.transformers import ByHand, keras_weights, little_transformer

from tensorsleuth.recording.eager.callbacks import EagerCallbacks
from tensorsleuth.trace.reader import Trace
from tensorsleuth.trace.series.layer_stats import LayerStatistics

FACE = pytest.mark.skipif(importlib.util.find_spec("transformers") is None, reason="transformers is not installed")


def train_step(program: ByHand, x: Any, labels: Any) -> Any:
    """As `ByHand.step` has it, in no function of TensorFlow's."""
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(program.call(x) ** 2) * tf.cast(labels[0], tf.float32)
    variables = list(program.kernels.values())
    for variable, gradient in zip(variables, tape.gradient(loss, variables), strict=True):
        variable.assign_sub(0.1 * gradient)
    return loss


def names(inside: LayerStatistics) -> dict[str, list[str]]:
    """Everything that was seen, by kind."""
    kinds: dict[str, Any] = {"attention": inside.attention, "layers": inside.layers, "inputs": inside.inputs}
    return {kind: sorted(one.name for one in found) for kind, found in kinds.items()}


def test_attention_written_by_hand(compared: Callable[..., Trace]) -> None:
    def train() -> Any:
        program = ByHand()
        losses = [train_step(program, tf.constant(X), tf.constant(LABELS)) for _ in range(10)]
        return losses, [kernel.read_value() for kernel in program.kernels.values()]

    inside = compared(train, inside_every=4).inside()
    [found] = inside.attention
    assert (found.name, found.op, found.by, found.trains) == ("Softmax", "Softmax", "probe", True)
    assert found.steps.tolist() == [0, 1, 2, 4, 8] and found.file == __file__.replace(
        "test_inside_eager", "transformers"
    )
    agrees(found, 0, ByHand().weights(X))
    [labels] = inside.inputs
    assert labels.name == "train_step/labels"
    np.testing.assert_array_equal(labels.value(-1), LABELS)


@pytest.mark.parametrize("name", KERASES)
def test_a_model_that_fits_eagerly_is_seen_as_one_that_is_traced(recorded: Callable[..., Trace], name: str) -> None:
    keras = kerases.load(name)
    seen: dict[bool, LayerStatistics] = {}
    for eagerly in (False, True):
        keras.utils.set_random_seed(5)
        model = little_transformer(keras)
        model.compile("sgd", "mse", run_eagerly=eagerly)
        ids, goals = IDS[:, : model.input_shape[1]], np.ones([len(IDS), 3], np.float32)
        fit = lambda: model.fit(ids, goals, batch_size=4, epochs=3, shuffle=False, verbose=0)  # noqa: B023, E731
        seen[eagerly] = recorded(fit, inside_every=4).inside()
    traced, eager = seen[False], seen[True]
    fused = "net/mix/attention_output"  # by the graph optimizer: with Keras 2 a function never computes it
    assert {**names(eager), "layers": []} == {**names(traced), "layers": []} and names(eager)["attention"] == [
        "net/mix"
    ]
    assert set(names(eager)["layers"]) - {fused} == set(names(traced)["layers"]) - {fused} and eager.inputs
    layers = {layer.name: layer for layer in eager.layers}
    for before in traced.layers:
        now = layers[before.name]
        assert now.steps.tolist() == before.steps.tolist() == [0, 1, 2, 4, 5]
        np.testing.assert_allclose(now.norm, before.norm, rtol=1e-4)
        np.testing.assert_array_equal(now.units, before.units)
    now_weights, weights = eager.attention[0].weights(0), traced.attention[0].weights(0)
    assert now_weights is not None and weights is not None
    np.testing.assert_allclose(now_weights, weights, atol=1e-5)
    np.testing.assert_array_equal(eager.inputs[0].value(1), traced.inputs[0].value(1))


@pytest.mark.parametrize("name", KERASES)
def test_the_numbers_of_keras_are_those_of_numpy(recorded: Callable[..., Trace], name: str) -> None:
    """Without a tape: where nothing trains, what was seen is what the lists hold; once, however often it is called."""
    layer = kerases.load(name).layers.MultiHeadAttention(2, 4, dropout=0.5, name="mha")
    layer(tf.constant(X), tf.constant(X))  # makes its variables
    held: list[Any] = []

    def call() -> None:
        for _ in range(3):
            held.append(layer(tf.constant(X), tf.constant(X), use_causal_mask=True))

    inside = recorded(call).inside()
    [found] = inside.attention
    assert (found.name, found.trains, found.steps.tolist()) == ("mha", False, [0])
    agrees(found, 0, keras_weights(layer, X, causal=True))
    names = [layer.name for layer in inside.layers if "softmax" not in layer.name]  # Keras 3 masks what leaves it
    assert sorted(names) == [f"mha/{part}" for part in ("attention_output", "key", "query", "value")]


def test_functions_that_are_run_eagerly(recorded: Callable[..., Trace]) -> None:
    program = ByHand()
    step = program.step()
    tf.config.run_functions_eagerly(True)
    try:
        inside = recorded(lambda: [step(tf.constant(X), tf.constant(LABELS)) for _ in range(2)]).inside()
    finally:
        tf.config.run_functions_eagerly(False)
    assert names(inside) == {"attention": ["Softmax"], "layers": [], "inputs": ["train_step/labels"]}
    agrees(inside.attention[0], 0, ByHand().weights(X))


def layers_of_step(block: Block, call: Callable[[Any], Any]) -> Callable[[], None]:
    """A step by hand, and an evaluation behind it."""

    def train() -> None:
        for _ in range(2):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(call(tf.constant(X)) ** 2)
            for variable, gradient in zip(block.variables, tape.gradient(loss, block.variables), strict=True):
                variable.assign_sub(1e-4 * gradient)
            held.append(block(tf.constant(X)))  # otherwise no op would take the output of the last layer

    held: list[Any] = []
    return train


EXPECTED = ["wide", "mix/query", "mix/key", "mix/value", "mix/attention_output", "out"]


@pytest.mark.parametrize("how", ["plain", "checkpointed", "in a loop"])
def test_layers_by_hand(recorded: Callable[..., Trace], how: str) -> None:
    """What is computed again for a gradient is not another layer; of a loop, the first time round counts."""
    block = Block(tf.keras)
    calls: dict[str, Callable[[Any], Any]] = {
        "plain": block,
        "checkpointed": lambda x: tf.recompute_grad(block.__call__)(tf.identity(x)),
        "in a loop": lambda x: tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, block(x)), [0, x])[1],
    }
    inside = recorded(layers_of_step(block, calls[how])).inside()
    assert [layer.name for layer in inside.layers] == EXPECTED
    assert [layer.name for layer in inside.evaluation.layers] == EXPECTED
    assert [one.name for one in inside.attention] == [one.name for one in inside.evaluation.attention] == ["mix"]
    assert {tuple(layer.steps.tolist()) for layer in inside.layers} == {(0, 1)}


def test_blocks_from_the_same_lines_are_told_apart(recorded: Callable[..., Trace]) -> None:
    def blocks(x: Any) -> Any:
        for _ in range(3):
            x = x + tf.matmul(tf.nn.softmax(tf.matmul(x, x, transpose_b=True)), x)
        return x

    for around in (tf.function(blocks), blocks):
        inside = recorded(lambda: around(tf.constant(X))).inside()  # noqa: B023
        assert [one.name for one in inside.attention] == ["Softmax", "Softmax_1", "Softmax_2"]


def test_steps_that_are_not_due_are_free(recorded: Callable[..., Trace], monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    real = EagerCallbacks.look_inside

    def count(self: EagerCallbacks, *given: Any) -> None:
        told.append(self._steps.number)
        real(self, *given)

    monkeypatch.setattr(EagerCallbacks, "look_inside", count)
    program = ByHand()
    recorded(lambda: [train_step(program, tf.constant(X), tf.constant(LABELS)) for _ in range(10)], inside_every=4)
    assert set(told) == {0, 1, 2, 4, 8}


@pytest.mark.parametrize(
    ("op", "fewest", "most"),
    [(lambda x: tf.matmul(x, x, transpose_b=True), 128, 200), (tf.square, 0, 0)],
    ids=["never trains", "has no model"],
)
def test_a_program_that_never_trains_is_not_told_of_for_ever(
    op: Callable[[Any], Any], fewest: int, most: int, recorded: Callable[..., Trace], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []
    monkeypatch.setattr(EagerCallbacks, "look_inside", lambda self, *given: told.append(1))

    def program() -> None:
        for _ in range(1000):
            op(x)

    x = tf.constant(X)
    recorded(program)
    assert fewest <= len(told) <= most


def test_no_tensor_lives_on(recorded: Callable[..., Trace]) -> None:
    program, alive = ByHand(), []

    def one(x: Any, labels: Any) -> None:
        with tf.GradientTape() as tape:
            mixed = program.call(x)
            loss = tf.reduce_sum(mixed) * tf.cast(labels[0], tf.float32)
        tape.gradient(loss, program.kernels["value"])
        seen.extend(map(weakref.ref, (mixed, x, labels, loss)))

    def train() -> None:
        for _ in range(3):
            one(tf.constant(X), tf.constant(LABELS))
            gc.collect()
            alive.append(sum(tensor() is not None for tensor in seen))

    seen: list[Any] = []
    recorded(train)
    assert alive == [0, 0, 0]


@FACE
def test_hugging_face_models_that_are_called_eagerly(
    recorded: Callable[..., Trace], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "1")  # transformers sets it permanently, and later tests must not see it
    import transformers

    sizes = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    config = transformers.BertConfig(vocab_size=9, **sizes)
    model = transformers.TFBertForSequenceClassification(config)
    batch = {"input_ids": tf.constant(IDS), "attention_mask": tf.constant((IDS > 0).astype(np.int32))}
    labels = tf.constant(np.arange(len(IDS)) % 2)

    def train_step(batch: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(batch, labels=labels, training=True).loss)
        return tape.gradient(loss, model.trainable_variables)

    train_step(batch, labels)
    traced, eager = (recorded(lambda: step(batch, labels)).inside() for step in (tf.function(train_step), train_step))  # noqa: B023
    assert names(eager) == names(traced)
    assert len(eager.attention) == 2 and names(eager)["inputs"] == [
        "train_step/batch_attention_mask", "train_step/batch_input_ids", "train_step/labels",
    ]  # fmt: skip
