"""Results that a step computes, or gets, and throws away: clips, masks; each with a healthy twin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
RNG = np.random.default_rng(5)
X = RNG.normal(size=(16, 4)).astype("float32")
Y = X[:, :1] * 2.0
STEPS = 6


def told(trace: Trace) -> list[tuple[str, int | None]]:
    found = tensorsleuth.diagnose(trace)
    return [(one.cause, one.line) for one in (*found.findings, *found.notes)]


def by_value(gradients: list[Any]) -> list[Any]:
    return [tf.clip_by_value(one, -1.0, 1.0) for one in gradients]  # by value


def by_norm(gradients: list[Any]) -> list[Any]:
    return [tf.clip_by_norm(one, 1.0) for one in gradients]  # by norm


def by_global_norm(gradients: list[Any]) -> list[Any]:
    return list(tf.clip_by_global_norm(gradients, 1.0)[0])  # by global norm


CLIPS = {"by value": by_value, "by norm": by_norm, "by global norm": by_global_norm}


def clipping_step(clip: Callable[[list[Any]], list[Any]], thrown_away: bool) -> Callable[[], Any]:
    weights = [tf.Variable(RNG.normal(size=(4, 1)).astype("float32")), tf.Variable([0.0])]

    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(X @ weights[0] + weights[1] - Y))
        gradients = tape.gradient(loss, weights)
        clipped = clip(gradients)
        for weight, gradient in zip(weights, gradients if thrown_away else clipped, strict=True):
            weight.assign_sub(0.1 * gradient)
        return loss

    return step


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "graph"])
@pytest.mark.parametrize("name", CLIPS)
def test_a_clip_whose_result_is_thrown_away(recorded: Recorded, name: str, compiled: bool) -> None:
    ill, well = (clipping_step(CLIPS[name], thrown_away) for thrown_away in (True, False))
    runs = [tf.function(one) if compiled else one for one in (ill, well)]
    assert told(recorded(lambda: [runs[0]() for _ in range(STEPS)])) == [("clip-unused", marked(name))]
    assert told(recorded(lambda: [runs[1]() for _ in range(STEPS)])) == []


def test_a_norm_that_a_clip_is_asked_for_is_a_use_of_it(recorded: Recorded) -> None:
    weight = tf.Variable(RNG.normal(size=(4, 1)).astype("float32"))

    @tf.function
    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(X @ weight - Y))
        gradients = tape.gradient(loss, [weight])
        _, norm = tf.clip_by_global_norm(gradients, 1.0)
        weight.assign_sub(0.1 * gradients[0])
        return loss, norm

    assert told(recorded(lambda: [step() for _ in range(STEPS)])) == []


# ---- masks

LENGTHS = RNG.integers(3, 9, 16)
MASK = np.arange(8) < LENGTHS[:, None]
IDS = np.where(MASK, RNG.integers(1, 30, (16, 8)), 0).astype("int32")
LABELS = (IDS[:, 0] % 2).astype("int32")


def mask_step(uses: str) -> Callable[..., Any]:
    table = tf.Variable(RNG.normal(size=(30, 6)).astype("float32"))
    weight = tf.Variable(RNG.normal(size=(6, 2)).astype("float32"))

    @tf.function
    def step(ids: Any, mask: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            words = tf.gather(table, ids)
            there = ids != 0 if uses == "its own" else mask if uses == "it" else tf.ones_like(mask)
            many = tf.cast(there, tf.float32)[..., None]
            logits = (tf.reduce_sum(words * many, 1) / tf.reduce_sum(many, 1)) @ weight
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        for one, gradient in zip([table, weight], tape.gradient(loss, [table, weight]), strict=True):
            one.assign_sub(0.1 * tf.convert_to_tensor(gradient))
        return loss

    made: Callable[..., Any] = step
    return made


def run_masked(step: Callable[..., Any], mask: Any) -> None:
    for _ in range(STEPS):
        step(tf.constant(IDS), tf.constant(mask), tf.constant(LABELS))  # call


def mask_findings(trace: Trace) -> list[tuple[str, str, int | None]]:
    found = tensorsleuth.diagnose(trace)
    return [(one.cause, one.severity, one.line) for one in (*found.findings, *found.notes) if "mask" in one.cause]


def test_a_mask_that_nothing_depends_on(recorded: Recorded) -> None:
    step = mask_step("nothing")
    assert mask_findings(recorded(lambda: run_masked(step, MASK))) == [("mask-unused", "error", marked("call"))]


def test_a_step_that_makes_the_mask_from_the_ids_may_have_the_same(recorded: Recorded) -> None:
    step = mask_step("its own")
    assert mask_findings(recorded(lambda: run_masked(step, MASK))) == [("mask-unused", "note", marked("call"))]


@pytest.mark.parametrize(("uses", "mask"), [("it", MASK), ("nothing", np.ones_like(MASK))], ids=["used", "all ones"])
def test_a_mask_that_is_used_or_hides_nothing(recorded: Recorded, uses: str, mask: Any) -> None:
    step = mask_step(uses)
    assert mask_findings(recorded(lambda: run_masked(step, mask))) == []
