"""What is said of labels where the loss is that of Hugging Face's models: -100 does not count, the model moves them."""

from __future__ import annotations

import contextlib
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
Labels = Callable[[Any], Any]
WORDS, LENGTH, WIDTH, PAD, STEPS = 30, 12, 16, 0, 6
random = np.random.default_rng(5)


def texts() -> Any:
    """Words that count upwards, and padding."""
    ids = 1 + (random.integers(0, WORDS, (16, 1)) + 2 * np.arange(LENGTH)) % (WORDS - 1)
    ids[np.arange(LENGTH)[None] >= random.integers(4, LENGTH + 1, (16, 1))] = PAD
    return ids.astype(np.int32)


def not_counted(labels: Any, logits: Any) -> Any:
    """The mean loss of the labels that are not -100."""
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.nn.relu(labels), logits)
    counts = tf.cast(labels != -100, losses.dtype)
    return tf.reduce_sum(losses * counts) / tf.reduce_sum(counts)


def trained(labels_of: Labels, in_step: Labels = lambda labels: labels, is_causal: bool = True) -> Callable[[], None]:
    """A model of one attention that looks back, and moves labels itself."""
    shapes = (WORDS, WIDTH), (WIDTH, WIDTH), (WIDTH, WORDS)
    variables = [tf.Variable(random.normal(size=shape).astype(np.float32) / 4) for shape in shapes]
    table, inner, outer = variables

    @tf.function
    def step(input_ids: Any, labels: Any) -> None:
        ids, labels = input_ids, in_step(labels)
        with tf.GradientTape() as tape:
            x = tf.matmul(tf.gather(table, ids), inner)
            scores = tf.matmul(x, x, transpose_b=True) * 0.1 + tf.cast(ids == PAD, tf.float32)[:, None, :] * -1e9
            past = tf.linalg.band_part(tf.ones((LENGTH, LENGTH)), -1, 0) > 0
            scores = tf.where(past, scores, -1e9) if is_causal else scores
            # Merges the heads of a group there, as Gemma does.
            weights = tf.reshape(tf.nn.softmax(scores), [-1, LENGTH, LENGTH])
            logits = tf.matmul(tf.matmul(weights, x), outer)
            loss = not_counted(labels[:, 1:], logits[:, :-1])
        for variable, slope in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(0.1 * tf.convert_to_tensor(slope))

    def program() -> None:
        for _ in range(STEPS):
            ids = texts()
            step(tf.constant(ids), tf.constant(labels_of(ids)))

    return program


def told(trace: Trace) -> list[str]:
    found = tensorsleuth.diagnose(trace)
    return [one.cause for one in (*found.findings, *found.notes)]


def ignoring(ids: Any) -> Any:
    return np.where(ids == PAD, -100, ids)


def of_answers(ids: Any) -> Any:
    """Of a question with an answer, the answer: the first half is not learned."""
    labels = ignoring(ids)
    labels[:, : LENGTH // 2] = -100
    return labels


def moved(ids: Any) -> Any:
    return np.concatenate([ignoring(ids)[:, 1:], np.full((len(ids), 1), -100)], axis=1).astype(np.int32)


@pytest.mark.parametrize("labels", [ignoring, of_answers])
def test_labels_that_are_the_ids_are_right_where_the_model_moves_them(recorded: Recorded, labels: Labels) -> None:
    assert told(recorded(trained(lambda ids: labels(ids).astype(np.int32)))) == []


def test_labels_that_the_step_sets_to_minus_100_are_left_out(recorded: Recorded) -> None:
    assert told(recorded(trained(lambda ids: ids, lambda labels: tf.where(labels == PAD, -100, labels)))) == []
    assert told(recorded(trained(lambda ids: ids, lambda labels: tf.where(labels != PAD, labels, -100)))) == []


def test_labels_that_are_moved_before_the_model_moves_them(recorded: Recorded) -> None:
    trace = recorded(trained(moved))
    [found] = tensorsleuth.diagnose(trace).findings
    assert found.cause == "labels-shift" and "label t is token t + 2" in found.summary
    assert found.fix is not None and "pass labels=input_ids: the model shifts them itself" in found.fix


def test_padding_that_is_not_minus_100_counts(recorded: Recorded) -> None:
    [found] = tensorsleuth.diagnose(recorded(trained(lambda ids: ids))).findings
    assert found.cause == "loss-padding" and "set labels to -100 where there is padding" in (found.fix or "")


@pytest.mark.parametrize("compiled", [False, True])
def test_ids_without_a_row_are_told_as_xla_takes_them(recorded: Recorded, compiled: bool) -> None:
    """On a CPU, uncompiled, they are an error."""
    table = tf.Variable(tf.ones([WORDS, 2]), name="words")

    @tf.function(jit_compile=compiled)
    def step(ids: Any) -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.gather(table, ids) ** 2)
        table.assign_sub(1e-3 * tf.convert_to_tensor(tape.gradient(loss, table)))

    def program() -> None:
        ids = np.full((8, LENGTH), WORDS + 4, np.int32)
        for _ in range(STEPS if compiled else 1):
            with contextlib.nullcontext() if compiled else pytest.raises(tf.errors.InvalidArgumentError):
                step(tf.constant(ids))

    fixes = {one.cause: one.fix or "" for one in tensorsleuth.diagnose(recorded(program)).findings}
    silent = f"words has {WORDS} rows, and XLA takes another of them without an error"
    assert [cause for cause, fix in fixes.items() if silent in fix] == (["vocabulary"] if compiled else [])


def test_a_model_that_looks_ahead_and_moves_labels_itself(recorded: Recorded) -> None:
    labels: Labels = lambda ids: ignoring(ids).astype(np.int32)  # noqa: E731
    assert told(recorded(trained(labels, is_causal=False))) == ["no-causal-mask"]


@pytest.mark.parametrize(("inverted", "causes"), [(False, []), (True, ["mask-inverted"])])
def test_a_mask_is_judged_where_heads_lie_in_the_batch(recorded: Recorded, inverted: bool, causes: list[str]) -> None:
    """As in Hugging Face's BART: the first two weights are heads of one sample, not two samples."""
    table, inner = (tf.Variable(random.normal(size=(rows, 16)).astype(np.float32)) for rows in (WORDS, WIDTH))

    @tf.function
    def step(ids: Any, mask: Any) -> None:
        with tf.GradientTape() as tape:
            x = tf.reshape(tf.matmul(tf.gather(table, ids), inner), [-1, LENGTH, 2, 8])
            x = tf.reshape(tf.transpose(x, [0, 2, 1, 3]), [-1, LENGTH, 8])
            hidden = tf.repeat(tf.cast(mask, tf.float32), 2, axis=0)[:, None, :] * -1e9
            loss = tf.reduce_sum(tf.matmul(tf.nn.softmax(0.1 * tf.matmul(x, x, transpose_b=True) + hidden), x))
        inner.assign_sub(1e-3 * tape.gradient(loss, inner))

    def program() -> None:
        for _ in range(STEPS):
            ids = texts()
            step(tf.constant(ids), tf.constant((ids == PAD) != inverted))

    found = [cause for cause in told(recorded(program)) if cause.startswith("mask")]
    assert found == causes


@pytest.mark.parametrize("name", KERASES)
def test_a_mask_is_judged_where_attention_drops_out(recorded: Recorded, name: str) -> None:
    """Keras 3 picks the weights once more behind its softmax there."""
    layers = kerases.load(name).layers
    embedding, attention = layers.Embedding(WORDS, WIDTH), layers.MultiHeadAttention(2, 8, dropout=0.1)

    @tf.function
    def step(ids: Any, mask: Any) -> None:
        with tf.GradientTape() as tape:
            x = embedding(ids)
            loss = tf.reduce_sum(attention(x, x, attention_mask=mask[:, None, :], training=True) ** 2)
        variables = embedding.trainable_variables + attention.trainable_variables
        for variable, slope in zip(variables, tape.gradient(loss, variables), strict=True):
            variable.assign_sub(1e-3 * tf.convert_to_tensor(slope))

    def program() -> None:
        for _ in range(STEPS):
            ids = texts()
            step(tf.constant(ids), tf.constant(ids == PAD))

    embedding(texts())
    attention(tf.ones([1, 2, WIDTH]), tf.ones([1, 2, WIDTH]))
    assert told(recorded(program)) == ["mask-inverted"]
