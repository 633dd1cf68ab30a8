"""What is shown of data that is bad: the batch that it came in with, the labels that met the loss, how to find it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tests.compat import kerases
from tests.compat.kerases import KERASES
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.core.finding import Finding
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
COLUMNS = [0.0, 0.0, 0.0]
LABELS = np.array([0, 1, 2, 0, 1, 2, 3, 0])


@pytest.fixture
def table(tmp_path: Path) -> str:
    lines = [f"{row},{'nan' if row == 13 else row},{row % 2}\n" for row in range(20)]
    (tmp_path / "table.csv").write_text("".join(["a,b,y\n", *lines]))
    return str(tmp_path / "table.csv")


def decoded(table: str) -> Any:
    lines = tf.data.TextLineDataset(table).skip(1)
    return lines.map(lambda line: tf.io.decode_csv(line, record_defaults=COLUMNS)).map(pair)


def read(table: str) -> Any:
    return tf.data.experimental.CsvDataset(table, COLUMNS, header=True).map(pair)


def pair(a: Any, b: Any, y: Any) -> Any:
    return tf.stack([a, b]), y


@pytest.mark.filterwarnings("ignore:Your input ran out of data")  # how long a file is, Keras cannot tell
@pytest.mark.parametrize("dataset", [decoded, read])
def test_a_nan_in_a_csv_file(recorded: Recorded, table: str, dataset: Callable[[str], Any]) -> None:
    found = first(recorded(lambda: fit((dataset(table).batch(4),))))
    assert (found.cause, found.phase, found.epoch, found.batch, found.step) == ("nan-in-data", "train", 0, 3, 3)
    assert found.summary.endswith("comes in at row 1, column 1 of the batch of step 3 (epoch 0, batch 3).")
    assert found.fix is not None and "sleuth data check" in found.fix and "tensorsleuth.checked(" in found.fix
    assert [piece.role for piece in found.evidence] == ["out"]  # no row for each default of a column


def test_a_label_is_told_with_the_batch_that_it_came_in_with(recorded: Recorded) -> None:
    def program() -> None:
        labels = np.zeros([12, 1], np.float32)
        labels[7] = np.nan  # missing
        fit((np.ones([12, 2], np.float32), labels), batch_size=4)

    found = first(recorded(program))
    assert (found.cause, found.epoch, found.batch, found.step) == ("nan-in-data", 0, 1, 1)
    place = "(row 7, column 0): it is in the data, and comes in at row 3, column 0"
    made = f"and line {marked('missing')} (labels[7] = np.nan) may have made it"
    assert found.summary.endswith(f"{place} of the batch of step 1 (epoch 0, batch 1), {made}.")


def fit(data: tuple[Any, ...], **how: Any) -> None:
    model = tf.keras.Sequential([tf.keras.Input([2]), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(*data, epochs=2, verbose=0, shuffle=False, **how)


def inside() -> Any:
    """The labels come out of a dataset inside of the function."""
    batches = iter(tf.data.Dataset.from_tensors((np.zeros([8, 3], np.float32), LABELS)))
    return tf.function(lambda: loss(*next(batches))), ()


def fed() -> Any:
    return tf.function(loss), (tf.zeros([8, 3]), tf.constant(LABELS))


def eager() -> Any:
    return loss, (tf.zeros([8, 3]), tf.constant(LABELS))


def loss(logits: Any, labels: Any) -> Any:
    return tf.nn.sparse_softmax_cross_entropy_with_logits(tf.cast(labels, tf.int32), logits * 2.0)


@pytest.mark.parametrize("way", [inside, fed, eager])
def test_labels_are_among_what_went_in(recorded: Recorded, way: Callable[[], Any]) -> None:
    found = first(recorded(lambda: run(*way())))
    assert found.cause == "label-out-of-range"
    logits, labels = [f"{piece.dtype}  {piece.health}" for piece in found.evidence if piece.role == "in"]
    assert logits.startswith("float32") and labels.startswith("int32") and "0 … 3" in labels


def test_an_index_is_among_what_went_in(recorded: Recorded) -> None:
    look_up = tf.function(lambda table, at: tf.gather(table, at))
    found = first(recorded(lambda: run(look_up, (tf.ones([3, 2]), tf.constant([1, 5])))))
    assert found.cause == "index-out-of-range"
    index = found.evidence[-1]
    assert (index.dtype, index.shape, index.health) == ("int32", (2,), "1 … 5, 5 at [1]")


def run(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError):
        function(*arguments)


def first(trace: Trace) -> Finding:
    trace.meta["ended"] = {"exit": 1}  # as if nobody had caught it
    return tensorsleuth.diagnose(trace).findings[0]


@pytest.mark.parametrize("rows", [6, 9])
@pytest.mark.parametrize("name", KERASES)
def test_positions_beyond_the_end_that_xla_does_not_refuse(recorded: Recorded, name: str, rows: int) -> None:
    keras = kerases.load(name)
    table = keras.layers.Embedding(rows, 4)
    model = keras.Sequential([keras.layers.Embedding(20, 4), keras.layers.GlobalAveragePooling1D()])
    ids = np.random.default_rng(1).integers(1, 20, size=(8, 9)).astype("int32")

    @tf.function(jit_compile=True)
    def step(ids: Any) -> Any:
        with tf.GradientTape() as tape:
            x = model(ids) + tf.reduce_mean(table(tf.range(9)), axis=0)  # p
            loss = tf.reduce_mean(tf.square(x))
        for weight, slope in zip(table.weights, tape.gradient(loss, table.weights), strict=True):
            weight.assign_sub(0.1 * tf.convert_to_tensor(slope))
        return loss

    def train() -> None:
        model(ids), table(tf.range(rows))
        for _ in range(12):
            step(tf.constant(ids))

    found = tensorsleuth.diagnose(recorded(train)).findings
    if rows == 9:
        assert found == ()
        return
    (one,) = found
    assert (one.cause, one.line) == ("position-out-of-range", marked("p")) and "XLA, which compiles step" in one.summary
    assert "has 6 rows, for positions 0 … 5" in one.summary and "is not in [0, 6)" in one.evidence[0].health
