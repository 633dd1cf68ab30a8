"""TensorFlow's graph optimizer, which our library joins, works as is assumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context
from tests.compat.looking import in_graph

from tensorsleuth.native import loader
from tensorsleuth.recording.tensorflow import internals as private
from tensorsleuth.trace.reader import Trace


def test_the_library_joins_the_graph_optimizer() -> None:
    assert loader.load() is not None, loader.load_error()
    assert private.join_optimizer(str(loader.LIBRARY)) is None
    assert private.optimizer_is_on()


def optimized_nodes(function: Any, *args: Any) -> list[str]:
    """The types of the nodes that TensorFlow runs for a call of a function."""
    runtime = context.context()
    runtime.enable_run_metadata()
    try:
        function(*args)
        metadata = runtime.export_run_metadata()
    finally:
        runtime.disable_run_metadata()
    return [node.op for graph in metadata.partition_graphs for node in graph.node]


def test_our_pass_is_the_last_of_the_last_round(recorded: Callable[..., Trace]) -> None:
    """The fusing pass runs before ours in each of two rounds: in the first, probes would keep it from fusing."""
    x, weight, bias = tf.ones([4, 4]), tf.ones([4, 4]), tf.ones([4])
    dense = tf.function(lambda x: tf.nn.relu(tf.nn.bias_add(tf.matmul(x, weight), bias)) * 2.0)
    bare = optimized_nodes(dense, x)
    watched: list[str] = []
    recorded(lambda: watched.extend(optimized_nodes(dense, x)))
    assert {"_FusedMatMul", "_MklNativeFusedMatMul"} & set(bare)  # the second with oneDNN
    added = Counter(watched) - Counter(bare)
    assert Counter(bare) - Counter(watched) == Counter()
    assert added["SleuthProbe"] >= 2 and added["SleuthCall"] == 1
    assert set(added) - {"_EagerConst", "_Retval"} == {"SleuthProbe", "SleuthCall", "_Arg"}  # those two: the number


POOLS = {
    "max_pool": lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID"),
    "max_pool_3d": lambda x: tf.nn.max_pool3d(x[:, None], (1, 2, 2), (1, 2, 2), "VALID"),
    "average": lambda x: tf.nn.avg_pool2d(x, 2, 2, "VALID"),
    "norm": lambda x: tf.nn.local_response_normalization(x, 2),
    "batch norm": lambda x: tf.compat.v1.nn.fused_batch_norm(x, tf.ones([16]), tf.ones([16]))[0],
}


@pytest.mark.parametrize("name", POOLS)
def test_a_gradient_is_computed_by_the_kernel_of_the_bare_program(name: str, recorded: Callable[..., Trace]) -> None:
    """oneDNN rewrites an op and its gradient as a pair, after our pass, and only if nothing is between them."""
    image = np.arange(384, dtype="float32").reshape(2, 8, 8, 3)
    kernel = np.ones([3, 3, 3, 16], "float32")

    @tf.function
    def step(image: Any) -> Any:
        pooled = POOLS[name](tf.nn.relu(tf.nn.conv2d(image, kernel, 1, "SAME")))
        return tf.gradients(tf.reduce_sum(pooled * pooled), [image])

    step(image)
    bare = optimized_nodes(step, image)
    watched: list[str] = []
    recorded(lambda: watched.extend(optimized_nodes(step, image)))
    assert len(bare) > 5 and Counter(bare) - Counter(watched) == Counter()


def test_names_in_debug_info_survive_inlining(recorded: Callable[..., Trace]) -> None:
    inner = tf.function(lambda x: tf.math.log(x))
    outer = tf.function(lambda x: inner(x) + inner(x + 1.0))
    trace = recorded(lambda: outer(tf.constant(2.0)))
    instances = {look.tensor.instance for look in in_graph(trace, "Log")}
    assert len(instances) == 2
    assert all(instance is not None and instance.parent > 0 for instance in instances)
    assert trace.not_covered == []


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_the_sparse_updates_of_keras_are_recorded(recorded: Callable[..., Trace], dtype: str) -> None:
    """The optimizer moves a cast over the shape of the table, and makes that op anew: for the other dtype, and under a
    name that says where it comes from. A probe of the old dtype would make the graph invalid, and TensorFlow would
    silently run the one without probes.
    """
    model = keras.Sequential([keras.layers.Input((5,), dtype=dtype), keras.layers.Embedding(50, 8)])
    model.add(keras.layers.GlobalAveragePooling1D())
    model.add(keras.layers.Dense(3))
    model.compile("rmsprop", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    ids = np.arange(160).reshape(32, 5).astype(dtype) % 50
    trace = recorded(lambda: model.fit(ids, np.arange(32) % 3, batch_size=16, epochs=2, verbose=0))
    assert trace.not_covered == []
    assert any("dense" in one.name for one in trace.tensors(op="MatMul"))
