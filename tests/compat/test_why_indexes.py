"""Verdicts on an index out of range: its value, the tensor that held it and its line, what is right, what to change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import marked

import tensorsleuth
from tensorsleuth.core.finding import Finding
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
Dying = Callable[[Callable[[], Any]], Finding]
Run = Callable[..., Any]

WAYS: dict[str, Callable[[Run], Run]] = {"eager": lambda run: run, "function": tf.function}


@pytest.mark.parametrize("way", WAYS)
def test_an_id_beyond_a_table_that_is_a_variable(dying: Dying, way: str) -> None:
    def program() -> None:
        table = tf.Variable(tf.ones([10, 4]), name="words")  # table
        ids = tf.constant([[1, 2, 12]])  # ids
        WAYS[way](lambda at: tf.nn.embedding_lookup(table, tf.cast(at, tf.int64)))(ids)  # lookup

    found = dying(program)
    assert (found.cause, found.line) == ("index-out-of-range", marked("lookup")), found.summary
    assert "12 at [0, 2]" in found.summary and "0 … 9" in found.summary and "[10, 4]" in found.summary
    assert f"fed in {__file__}:{marked('ids')}" in found.summary or way == "eager", found.summary
    assert f":{marked('table')}" in found.summary and "input_dim of at least 13" in str(found.fix)


@pytest.mark.parametrize("way", WAYS)
def test_an_id_that_an_op_made(dying: Dying, way: str) -> None:
    def program() -> None:
        table = tf.Variable(tf.ones([3, 4]))
        ids = tf.constant([0, 1, 2])

        def look_up(at: Any) -> Any:
            shifted = at + 1  # shifted
            return tf.gather(table, shifted)  # one too far

        WAYS[way](look_up)(ids)

    found = dying(program)
    assert found.line == marked("one too far") and f"made in {__file__}:{marked('shifted')}" in found.summary
    assert "3 at [2]" in found.summary and "subtract 1" in str(found.fix) and "input_dim=4" in str(found.fix)


def test_ids_of_a_dataset(dying: Dying) -> None:
    def program() -> None:
        table = tf.Variable(tf.ones([10, 4]))
        ids = np.array([[1, 2], [3, -1]])
        data = tf.data.Dataset.from_tensor_slices((ids, np.ones([2, 1], np.float32))).batch(2)  # the data
        step = tf.function(lambda at, y: tf.reduce_sum(tf.gather(table, at)) + y)  # step
        for at, y in data:
            step(at, y)

    found = dying(program)
    assert found.line == marked("step") and f"{__file__}:{marked('the data')}" in found.summary, found.summary
    assert "−1" in str(found.fix) and "padding" in str(found.fix) and "-1 at [1, 1]" in found.summary


def test_a_layer_of_keras_is_told_at_its_own_line(dying: Dying) -> None:
    def program() -> None:
        model = keras.Sequential(
            [
                keras.layers.Embedding(10, 4),  # embedding
                keras.layers.GlobalAveragePooling1D(),
                keras.layers.Dense(1),
            ]
        )
        model.compile("sgd", "mse")
        model.fit(np.array([[1, 2, 3], [4, 5, 10]]), np.ones([2, 1]), shuffle=False, verbose=0)  # fit

    found = dying(program)
    assert (found.cause, found.line) == ("index-out-of-range", marked("embedding")), found.summary
    assert found.shown_at is not None and found.shown_at.line == marked("fit")
    assert "input_dim=11" in str(found.fix) and "10 at [1, 2]" in found.summary


SCATTERS: dict[str, Callable[[], Any]] = {
    "tensor": lambda: tf.tensor_scatter_nd_update(tf.zeros([5]), [[7]], [1.0]),
    "add": lambda: tf.tensor_scatter_nd_add(tf.zeros([5, 2]), [[7]], [[1.0, 1.0]]),
    "variable": lambda: tf.Variable(tf.zeros([5])).scatter_nd_update([[7]], [1.0]),
    "zeros": lambda: tf.scatter_nd([[7]], [1.0], [5]),
    "slices": lambda: tf.Variable(tf.zeros([5])).scatter_update(tf.IndexedSlices(1.0, 7)),
}


@pytest.mark.parametrize("name", SCATTERS)
def test_scatters(dying: Dying, name: str) -> None:
    found = dying(SCATTERS[name])
    assert found.cause == "index-out-of-range", found.summary
    assert "index 7" in found.summary and "0 … 4" in found.summary and "at least 8 long" in str(found.fix)


TAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "element": (lambda: tf.ones([3])[3], "counted from 0, so the last one is 2"),
    "row": (lambda: (tf.ones([2, 3]) * 2.0)[:, 5], "0 … 2"),
    "gather": (lambda: tf.gather(tf.ones([3]) * 2.0, tf.constant([1, 3])), "the last one is 2"),
    "gather_nd": (lambda: tf.gather_nd(tf.ones([2, 3]), [[0, 1], [1, 9]]), "0 … 2"),
    "segments": (lambda: tf.math.unsorted_segment_sum(tf.ones([3]), [0, 1, 5], 3), "num_segments must be at least 6"),
}


@pytest.mark.parametrize("name", TAKES)
def test_elements_that_are_not_there(dying: Dying, name: str) -> None:
    run, advice = TAKES[name]
    found = dying(run)
    assert found.cause == "index-out-of-range" and advice in str(found.fix), (found.summary, found.fix)
    assert "0 … " in found.summary or name == "segments"


@pytest.mark.parametrize("way", WAYS)
def test_labels_that_count_from_one_are_wrong_where_they_are_made(dying: Dying, way: str) -> None:
    def program() -> None:
        head = tf.Variable(tf.ones([4, 3]), name="head")  # head
        labels = tf.constant([1, 2, 3, 1])  # labels

        def loss(x: Any, y: Any) -> Any:
            return tf.nn.sparse_softmax_cross_entropy_with_logits(y, tf.matmul(x, head))  # loss

        WAYS[way](loss)(tf.ones([4, 4]), labels)

    found = dying(program)
    assert (found.cause, found.line) == ("label-out-of-range", marked("labels")), found.summary
    assert found.shown_at is not None and found.shown_at.line == marked("loss")
    assert "3 at [2]" in found.summary and "0 … 2" in found.summary and "subtract 1" in str(found.fix)
    assert f"head [4, 3] of {__file__}:{marked('head')}" in found.summary


def test_more_labels_than_units(dying: Dying) -> None:
    def program() -> None:
        model = keras.Sequential([keras.layers.Dense(3)])
        model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        model.fit(np.ones([5, 2]), np.array([0, 1, 2, 3, 4]), verbose=0)  # the fit

    found = dying(program)
    assert found.cause == "label-out-of-range" and found.line == marked("the fit"), found.summary
    assert "5 units in place of 3" in str(found.fix) and "subtract" not in str(found.fix)


def test_a_label_for_nothing(dying: Dying) -> None:
    labels = tf.constant([0, -1, 2])
    found = dying(lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(labels, tf.ones([3, 3])))
    assert "-1 is no class" in str(found.fix) and "-1 at [1]" in found.summary


def test_a_placeholder_with_ids(dying: Dying) -> None:
    def program() -> None:
        v1 = tf.compat.v1
        with tf.Graph().as_default(), v1.Session() as session:
            ids = v1.placeholder(tf.int32, [None])
            table = v1.get_variable("table", [6, 2])
            y = tf.nn.embedding_lookup(table, ids)  # in the graph
            session.run(v1.global_variables_initializer())
            session.run(y, {ids: [1, 9]})  # run

    found = dying(program)
    assert (found.cause, found.line) == ("index-out-of-range", marked("in the graph")), found.summary
    assert f"fed in {__file__}:{marked('run')}" in found.summary and "9 at [1]" in found.summary


def test_what_is_in_range_is_healthy(recorded: Recorded) -> None:
    def program() -> None:
        table = tf.Variable(tf.ones([10, 4]))
        for ids in ([0, 9], [3, 4]):
            tf.gather(table, tf.constant(ids)) + tf.scatter_nd([[4]], [1.0], [5])[4]

    assert not tensorsleuth.diagnose(recorded(program)).findings


def test_an_error_that_the_program_expects_is_no_problem(recorded: Recorded) -> None:
    def program() -> None:
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.gather(tf.ones([3]), tf.constant([5]))
        for _ in range(5):
            tf.ones([3]) * 2.0

    assert not tensorsleuth.diagnose(recorded(program)).findings


FEATURES = ("age", "country", "income")


def _lookups_of_columns(columns: dict[str, Any]) -> None:
    """Train a model that looks up two columns in small tables, on what is a batch with these columns."""
    inputs = {name: keras.Input((), name=name, dtype="int32") for name in FEATURES if name != "income"}
    inputs["income"] = keras.Input((), name="income", dtype="float32")
    tables = [keras.layers.Embedding(12, 4)(inputs[name]) for name in ("age", "country")]
    income = keras.layers.Reshape([1])(inputs["income"])
    model = keras.Model(inputs, keras.layers.Dense(1)(keras.layers.concatenate([*tables, income])))
    model.compile("sgd", "mse")
    data = tf.data.Dataset.from_tensor_slices((columns, np.ones([4], np.float32))).batch(4)  # columns
    model.fit(data, verbose=0, shuffle=False)


AGES, COUNTRIES = np.array([1, 2, 3, 4], np.int32), np.array([5, 6, 7, 8], np.int32)


@pytest.mark.parametrize("income", [[36237.0, 100.0, 3.0, 4.0], [60.0, 40.0, 20.0, 4.0]])
def test_a_column_that_belongs_to_another_table(dying: Dying, income: list[float]) -> None:
    columns = {"age": AGES, "country": np.array(income, np.float32), "income": np.array(income, np.float32)}
    found = dying(lambda: _lookups_of_columns(columns))
    assert (found.cause, found.line) == ("index-out-of-range", marked("columns")), found.summary
    assert "hardly an id of this table" in found.summary and 'x["country"] (float32)' in found.summary, found.summary
    assert found.confidence < 0.8 and "the column that arrives" in str(found.fix)


def test_columns_in_another_order(dying: Dying) -> None:
    """Which table complains first is chance, and the column that it gets may hold integers."""
    columns = {"age": np.array([1, 16, 2, 3], np.int32), "country": np.ones([4], np.float32)}
    found = dying(lambda: _lookups_of_columns(columns | {"income": np.array([1, 5, 2, 3], np.int32)}))
    assert 'x["age"] (int32)' in found.summary and "hardly an id of this table" in found.summary, found.summary


def test_columns_of_their_own_tables_are_told_as_ever(dying: Dying) -> None:
    columns = {"age": AGES, "country": np.array([1, 2, 3, 25], np.int32), "income": np.ones([4], np.float32)}
    found = dying(lambda: _lookups_of_columns(columns))
    assert "hardly" not in found.summary and found.confidence > 0.8 and "at least 26" in str(found.fix)


def test_ids_of_a_vocabulary_are_no_other_column_if_they_are_floats(dying: Dying) -> None:
    columns = {"age": AGES, "country": np.array([1.0, 2.0, 3.0, 12.0], np.float32), "income": np.ones([4], np.float32)}
    found = dying(lambda: _lookups_of_columns(columns))
    assert "hardly" not in found.summary and "one row longer" in str(found.fix)


@pytest.mark.parametrize("way", WAYS)
def test_a_number_that_is_no_id(dying: Dying, way: str) -> None:
    def program() -> None:
        table = tf.Variable(tf.ones([10, 4]), name="words")
        batch = tf.constant([[3.0, 45211.0], [4.0, 1200.0]])
        WAYS[way](lambda x: tf.gather(table, tf.cast(x[:, 1], tf.int32)))(batch)

    found = dying(program)
    assert found.cause == "index-out-of-range" and "hardly an id" in found.summary and found.confidence < 0.8


def test_a_function_that_is_given_another_argument(dying: Dying) -> None:
    def program() -> None:
        table = tf.Variable(tf.ones([10, 4]))

        @tf.function
        def look_up(user: Any, seconds: Any) -> Any:
            return tf.reduce_sum(tf.gather(table, seconds)) + tf.cast(user[0], tf.float32)

        look_up(tf.constant([1, 2]), tf.constant([86400, 3]))  # swapped

    found = dying(program)
    assert found.line == marked("swapped") and "seconds (int32)" in found.summary, found.summary
    assert "hardly an id" in found.summary


def test_the_sizes_of_a_table_that_are_swapped(dying: Dying) -> None:
    layer = keras.layers.Embedding(8, 2000)
    found = dying(lambda: layer(tf.constant([[1, 1500]])))
    assert "swap the two sizes" in str(found.fix) and "hardly" not in found.summary
