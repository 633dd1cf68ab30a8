"""Ids that pass through a type that cannot name every row of their table; and those that only look like it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import marked_in

import tensorsleuth
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
ROWS, BATCH, TIME = 5000, 16, 8
EDGES = [0.1 * edge for edge in range(1, 10)]


def ids(last: int = ROWS, dtype: str = "int32") -> Any:
    given = np.random.default_rng(3).integers(0, last, (BATCH, TIME))
    given[0, :2] = last - 1, last - 2
    return given.astype(dtype)


def trained(look_up: Callable[[Any], Any], given: Any, rows: int = ROWS) -> None:
    """Four steps of a table: `look_up` makes integers of what is given."""
    table = tf.Variable(np.random.default_rng(4).standard_normal((rows, 4)).astype("float32"), name="words")

    @tf.function
    def step(given: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.gather(table, look_up(given)) ** 2)
        table.assign_sub(0.01 * tf.convert_to_tensor(tape.gradient(loss, table)))
        return loss

    for _ in range(4):
        step(tf.constant(given))


def by_half(given: Any) -> Any:
    short = tf.cast(given, tf.float16)  # halves
    return tf.minimum(tf.cast(short, tf.int32), ROWS - 1)


def by_byte(given: Any) -> Any:
    return tf.cast(tf.cast(given, tf.uint8), tf.int32)  # bytes


def as_they_are(given: Any) -> Any:
    return tf.cast(given, tf.int32)


def in_bins(given: Any) -> Any:
    return tf.raw_ops.Bucketize(input=tf.cast(tf.cast(given, tf.float16), tf.float32), boundaries=EDGES)


def scaled(given: Any) -> Any:
    """Places in a table that are computed of floats are no ids."""
    return tf.cast(tf.cast(given, tf.float16) / ROWS * 300, tf.int32)


WRONG: dict[str, tuple[Callable[[], None], str, str]] = {
    "float16": (lambda: trained(by_half, ids()), "halves", "float16, which is exact up to 2,048"),
    "float16 of floats": (
        lambda: trained(by_half, ids().astype("float32")), "halves", "float16, which is exact up to 2,048, and ids up",
    ),
    "uint8": (lambda: trained(by_byte, ids()), "bytes", "ids that become others in uint8, which ends at 255"),
}  # fmt: skip
RIGHT: dict[str, Callable[[], None]] = {
    "int32": lambda: trained(as_they_are, ids()),
    "float32": lambda: trained(as_they_are, ids().astype("float32")),
    "int16": lambda: trained(as_they_are, ids(dtype="int16")),
    "a small table": lambda: trained(by_half, ids(2000), rows=2049),
    "bytes": lambda: trained(as_they_are, ids(256, "uint8"), rows=384),
    "bins": lambda: trained(in_bins, ids().astype("float32"), rows=300),
    "scaled": lambda: trained(scaled, ids().astype("float32"), rows=5000),
}


@pytest.mark.parametrize("name", WRONG)
def test_ids_that_become_others_are_named(recorded: Recorded, name: str) -> None:
    run, mark, words = WRONG[name]
    (found,) = tensorsleuth.diagnose(recorded(run)).findings
    assert (found.cause, found.line) == ("token-dtype", marked_in(__file__, mark))
    assert words in found.summary and "looked up in words (5,000 rows)" in found.summary


@pytest.mark.parametrize("name", RIGHT)
def test_ids_that_stay_what_they_are(recorded: Recorded, name: str) -> None:
    found = tensorsleuth.diagnose(recorded(RIGHT[name]))
    assert [one.cause for one in (*found.findings, *found.notes) if one.cause == "token-dtype"] == []


def test_how_many_became_what(recorded: Recorded) -> None:
    (found,) = tensorsleuth.diagnose(recorded(lambda: trained(by_half, ids()))).findings
    given = ids()
    others = int((given.astype("float16").astype("int32") != given).sum())
    assert f"found {others} of {given.size}: ids that become others" in found.summary
    assert "sample 0 at position 0 (id 4999 → 5000), 1 (id 4998 → 5000)" in found.evidence[0].health


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_room_that_was_not_needed_is_a_note(recorded: Recorded, dtype: str) -> None:
    found = tensorsleuth.diagnose(recorded(lambda: trained(by_half, ids(1500, dtype))))
    assert not found.findings
    (note,) = [one for one in found.notes if one.cause == "token-dtype"]
    assert "larger ids would become others" in note.summary
