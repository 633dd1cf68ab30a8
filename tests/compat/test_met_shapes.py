"""Verdicts on shapes that do not fit together: which met, from which lines, and which line to change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import keras
import numpy as np
import pytest
import tensorflow as tf
from tests.compat.looking import marked

from tensorsleuth.core.finding import Finding
from tensorsleuth.recording.refused_inputs import RefusedInputs, _Refusal
from tensorsleuth.trace.reader import Trace

Recorded = Callable[..., Trace]
Run = Callable[[Any], Any]


Dying = Callable[[Callable[[], Any]], Finding]


class Net(tf.Module):
    """Two layers, of which a kernel or a bias may be too wide."""

    def __init__(self, width: int = 16, kernel: int = 16, bias: int = 16) -> None:
        super().__init__()
        self.w1 = tf.Variable(tf.ones([8, width]))  # the first kernel
        self.b1 = tf.Variable(tf.zeros([bias]))  # the first bias
        self.w2 = tf.Variable(tf.ones([kernel, 4]))  # the second kernel

    def __call__(self, x: Any) -> Any:
        h = tf.nn.relu(x @ self.w1 + self.b1)  # hidden
        return tf.matmul(h, self.w2)  # logits


class Nested(Net):
    def __call__(self, x: Any) -> Any:
        inner = tf.function(super().__call__)
        return inner(tf.identity(x))


def fixed(net: Net) -> Run:
    run: Run = tf.function(net.__call__)
    return run


WAYS: dict[str, Callable[[Net], Run]] = {"eager": lambda net: net, "function": fixed}


@pytest.mark.parametrize("way", WAYS)
def test_a_kernel_that_is_too_wide_is_the_line_to_change(dying: Dying, way: str) -> None:
    found = dying(lambda: WAYS[way](Net(kernel=24))(tf.ones([2, 8])))
    assert (found.cause, found.line) == ("shape-mismatch", marked("the second kernel")), found.summary
    assert "[2, 16]" in found.summary and "[24, 4]" in found.summary and f":{marked('logits')}" in found.summary
    assert "16 and 24 do not fit" in found.summary and found.confidence >= 0.9


@pytest.mark.parametrize("way", WAYS)
def test_a_kernel_whose_output_does_not_fit_is_found_behind_the_product(dying: Dying, way: str) -> None:
    found = dying(lambda: WAYS[way](Net(width=12))(tf.ones([2, 8])))
    assert (found.cause, found.line) == ("shape-mismatch", marked("the first kernel")), found.summary
    assert f":{marked('hidden')}" in found.summary and "12 and 16 do not fit" in found.summary


@pytest.mark.parametrize("way", WAYS)
def test_a_bias_that_does_not_fit(dying: Dying, way: str) -> None:
    found = dying(lambda: WAYS[way](Net(bias=12))(tf.ones([2, 8])))
    assert (found.cause, found.line) == ("shape-mismatch", marked("the first bias")), found.summary


def test_a_function_that_was_traced_for_any_size_fails_when_it_runs(dying: Dying) -> None:
    def program() -> None:
        kernel = tf.Variable(tf.ones([8, 16]))
        bias = tf.Variable(tf.zeros([16]))
        head = tf.Variable(tf.ones([24, 4]))  # wide
        run = tf.function(lambda x, head: tf.matmul(x @ kernel + bias, head), [tf.TensorSpec(None)] * 2)
        run(tf.ones([2, 8]), head)

    found = dying(program)
    assert (found.cause, found.line) == ("shape-mismatch", marked("wide")), found.summary
    assert "[2, 16]" in found.summary and "[24, 4]" in found.summary and "16 and 24 do not fit" in found.summary


@pytest.mark.parametrize("way", WAYS)
def test_a_kernel_that_has_worked_is_not_to_blame(dying: Dying, way: str) -> None:
    def program() -> None:
        run = WAYS[way](Net())
        for width in (8, 8, 9):
            run(tf.ones([2, width]))

    found = dying(program)
    assert (found.cause, found.line) == ("shape-mismatch", marked("hidden")), found.summary


def test_a_function_in_a_function(dying: Dying) -> None:
    found = dying(lambda: fixed(Nested(kernel=24))(tf.ones([2, 8])))
    assert (found.cause, found.line) == ("shape-mismatch", marked("the second kernel")), found.summary


def test_data_that_does_not_fit_a_kernel(dying: Dying) -> None:
    """Nothing else has either size: the line of the kernel is likely, not sure."""
    found = dying(lambda: Net()(tf.ones([2, 9])))
    assert found.cause == "shape-mismatch" and "[2, 9]" in found.summary and "[8, 16]" in found.summary
    assert found.confidence < 0.9


OPERATIONS: dict[str, Callable[[], Any]] = {
    "concat": lambda: tf.concat([tf.ones([2, 3]) * 2.0, tf.ones([4, 3]) * 3.0], 1),
    "stack": lambda: tf.stack([tf.ones([2, 3]) * 2.0, tf.ones([2, 4]) * 3.0]),
    "add": lambda: tf.ones([2, 3]) * 2.0 + tf.ones([2, 4]) * 3.0,
    "where": lambda: tf.where(tf.ones([2, 3]) > 0.0, tf.ones([2, 3]), tf.ones([2, 4]) * 3.0),
    "conv": lambda: tf.nn.conv2d(tf.ones([1, 8, 8, 3]) * 2.0, tf.ones([3, 3, 4, 2]) * 2.0, 1, "SAME"),
    "einsum": lambda: tf.einsum("ij,jk->ik", tf.ones([2, 3]) * 2.0, tf.ones([4, 5]) * 2.0),
    "batch": lambda: tf.matmul(tf.ones([2, 3, 4]) * 2.0, tf.ones([2, 5, 6]) * 2.0),
}


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "function"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_each_op_tells_which_shapes_met(dying: Dying, name: str, compiled: bool) -> None:
    run = tf.function(OPERATIONS[name], autograph=False) if compiled else OPERATIONS[name]
    found = dying(run)
    assert found.cause == "shape-mismatch", found.summary
    assert "do not fit together" in found.summary and "in user code" not in found.summary
    assert len({one.shape for one in found.evidence}) >= 2


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "function"])
def test_the_parts_of_a_sparse_tensor_are_not_compared(dying: Dying, compiled: bool) -> None:
    """Its indices are [2, 2]: that 2 meets no 7."""

    def product() -> Any:
        adjacency = tf.sparse.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], [3, 20])
        return tf.sparse.sparse_dense_matmul(adjacency, tf.ones([7, 4]) * 2.0)  # sparse

    found = dying(tf.function(product, autograph=False) if compiled else product)
    assert found.line == marked("sparse"), found.summary
    assert "2 and 7 do not fit" not in found.summary and "20" in found.summary


class Scaled(keras.layers.Layer):
    """A layer of one's own, with a weight of the wrong size."""

    def build(self, shape: Any) -> None:
        self.gain = self.add_weight(shape=(shape[-1] + 1,), name="gain")  # the gain

    def call(self, x: Any) -> Any:
        return x * self.gain  # scaled


@pytest.mark.parametrize("way", ["eager", "functional", "fit"])
def test_a_layer_of_keras(dying: Dying, way: str) -> None:
    def program() -> None:
        if way == "eager":
            Scaled()(tf.ones([2, 5]))
        elif way == "functional":
            Scaled()(keras.Input([5]))
        else:
            model = keras.Sequential([keras.layers.Dense(5), Scaled()])
            model.compile("sgd", "mse")
            model.fit(np.ones([4, 3]), np.ones([4, 5]), verbose=0)

    found = dying(program)
    assert (found.cause, found.line) == ("shape-mismatch", marked("the gain")), found.summary
    assert f":{marked('scaled')}" in found.summary and "5 and 6 do not fit" in found.summary


def test_labels_that_do_not_fit_a_model_name_both_and_blame_none(dying: Dying) -> None:
    def program() -> None:
        model = keras.Sequential([keras.Input([8]), keras.layers.Dense(3)])
        model.compile("sgd", "mse")
        model.fit(np.ones([4, 8]), np.ones([4, 2]), verbose=0)  # fit

    found = dying(program)
    assert (found.cause, found.line) == ("shape-mismatch", marked("fit")), found.summary
    assert "[?, 2]" in found.summary and "[?, 3]" in found.summary and "do not fit together" in found.summary


@pytest.mark.parametrize("width", [8, 9])
def test_the_check_of_a_layer_is_told_without_what_keras_puts_around_it(dying: Dying, width: int) -> None:
    def program() -> None:
        model = keras.Sequential([keras.Input([width + 1]), keras.layers.Dense(3)])
        model(tf.ones([2, width]))  # call

    found = dying(program)
    assert (found.cause, found.line) == ("shape-mismatch", marked("call")), found.summary
    assert "Arguments received" not in found.summary and f"{width}" in found.summary


def test_a_graph_of_tensorflow_1(dying: Dying) -> None:
    def program() -> None:
        v1 = tf.compat.v1
        with tf.Graph().as_default():
            x = v1.placeholder(tf.float32, [None, 8])
            kernel = v1.get_variable("kernel", [8, 16])
            head = v1.get_variable("head", [24, 4])  # the head
            tf.matmul(tf.nn.relu(tf.matmul(x, kernel)), head)  # made

    found = dying(program)
    assert (found.cause, found.line) == ("shape-mismatch", marked("the head")), found.summary


def test_what_was_caught_is_not_what_ended_the_program(dying: Dying) -> None:
    def program() -> None:
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.matmul(tf.ones([2, 3]), tf.ones([4, 5]))
        tf.concat([tf.ones([2, 3]), tf.ones([4, 3])], 1)  # the end

    found = dying(program)
    assert found.line == marked("the end") and "[4, 5]" not in found.summary


def test_an_error_that_has_the_id_of_one_that_is_gone_is_looked_at() -> None:
    """As in tf.stack, which catches the error of its first attempt and raises that of its second."""
    refused = RefusedInputs(cast(Any, None))
    error = ValueError("Dimension 1 in both shapes must be equal, but are 3 and 4")
    refused._kept.append(_Refusal(id(error), "Incompatible shapes: [2,3] vs. [5]", {}))
    assert not refused._is_known(error, str(error))
    refused._kept.append(_Refusal(id(error), str(error), {}))
    assert refused._is_known(error, str(error)) and refused._is_known(ValueError(), f"in user code: {error}")


def images(count: int = 32) -> Any:
    return tf.random.stateless_uniform([count, 28, 28], [1, 2])


@pytest.mark.parametrize("way", ["eager", "function"])
def test_a_reshape_to_a_wrong_width_is_told_where_the_product_fails(dying: Dying, way: str) -> None:
    def program() -> None:
        kernel = tf.Variable(tf.ones([784, 10]))

        def run(x: Any) -> Any:
            flat = tf.reshape(x * 2.0, [-1, 392])  # flat
            return tf.matmul(tf.nn.relu(flat), kernel)  # product

        WAYS_OF_RUNNING[way](run)(images())

    found = dying(program)
    assert (found.cause, found.line) == ("shape-mismatch", marked("flat")), found.summary
    assert "[64, 392] of [32, 28, 28]" in found.summary and f":{marked('product')}" in found.summary
    assert "reshape to [-1, 784]" in str(found.fix) and found.confidence >= 0.9


WAYS_OF_RUNNING: dict[str, Callable[[Run], Run]] = {
    "eager": lambda run: run,
    "function": tf.function,
    "any size": lambda run: tf.function(run, input_signature=[tf.TensorSpec([None, 28, 28])]),
}


@pytest.mark.parametrize("way", WAYS_OF_RUNNING)
@pytest.mark.parametrize("loss", ["sparse", "squares"])
def test_a_reshape_to_a_wrong_width_is_told_where_the_loss_fails(dying: Dying, way: str, loss: str) -> None:
    def program() -> None:
        kernel = tf.Variable(tf.ones([196, 10]))
        labels, targets = tf.zeros([32], tf.int32), tf.ones([32, 10])

        def run(x: Any) -> Any:
            rows = tf.reshape(x, [-1, 196])  # rows
            scores = tf.nn.relu(rows @ kernel)
            if loss == "squares":
                return tf.reduce_mean(tf.square(scores - targets))
            return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores)

        WAYS_OF_RUNNING[way](run)(images())

    found = dying(program)
    assert (found.cause, found.line) == ("shape-mismatch", marked("rows")), found.summary
    assert "128" in found.summary and "32" in found.summary and "[-1, 784]" in str(found.fix)


def test_a_reshape_to_a_wrong_width_in_a_layer_of_fit(dying: Dying) -> None:
    class Flat(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            return tf.reshape(x, [-1, 14 * 28])  # in the layer

        def compute_output_shape(self, shape: Any) -> Any:
            return None, 14 * 28

    def program() -> None:
        model = keras.Sequential([Flat(), keras.layers.Dense(10)])
        model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        model.fit(images().numpy(), np.zeros([32], np.int32), batch_size=8, verbose=0)

    found = dying(program)
    assert (found.cause, found.line) == ("shape-mismatch", marked("in the layer")), found.summary


@pytest.mark.parametrize("way", ["eager", "function"])
def test_a_reshape_that_keeps_samples_apart_is_not_to_blame(dying: Dying, way: str) -> None:
    def program() -> None:
        kernel = tf.Variable(tf.ones([392, 10]))  # half as wide
        tf.Variable(tf.ones([784, 5]))
        WAYS_OF_RUNNING[way](lambda x: tf.reshape(x, [-1, 784]) @ kernel)(images())

    found = dying(program)
    assert found.line == marked("half as wide"), found.summary


@pytest.mark.parametrize("way", ["eager", "function"])
def test_time_that_is_made_part_of_the_batch_is_not_to_blame(dying: Dying, way: str) -> None:
    def program() -> None:
        kernel = tf.Variable(tf.ones([30, 10]))  # for 30
        WAYS_OF_RUNNING[way](lambda x: tf.reshape(x * 2.0, [-1, 28]) @ kernel)(images())

    assert "mixes samples" not in str(dying(program).fix)


def test_a_graph_of_tensorflow_1_with_a_wrong_reshape(dying: Dying) -> None:
    def program() -> None:
        v1 = tf.compat.v1
        with tf.Graph().as_default():
            x = v1.placeholder(tf.float32, [None, 28, 28])
            flat = tf.reshape(x, [-1, 392])  # of placeholders
            tf.matmul(flat, v1.get_variable("kernel", [784, 10]))

    found = dying(program)
    assert (found.cause, found.line) == ("shape-mismatch", marked("of placeholders")), found.summary
