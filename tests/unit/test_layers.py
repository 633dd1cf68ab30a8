"""The layer of a node, from names that TensorFlow 2.15 (Keras 2) and 2.21 (Keras 3) gave to nodes."""

from __future__ import annotations

import pytest

from tensorsleuth.core.ops.layer_names import layer_of

KERAS_3 = {
    "sequential_1/dense_1/MatMul": "sequential_1/dense_1",
    "sequential_1/dense_1/Cast/ReadVariableOp": "sequential_1/dense_1",
    "sequential_1/dropout_1/ReadVariableOp": "sequential_1/dropout_1",
    "sequential_1/dropout_1/stateless_dropout/stateless_random_uniform/mul": "sequential_1/dropout_1",
    "sequential_1/block_1/norm_1/moments/mean/reduction_indices": "sequential_1/block_1/norm_1",
    "sequential_1/batch_normalization_1/batchnorm/add_1": "sequential_1/batch_normalization_1",
    "gradient_tape/sequential_1/batch_normalization_1/batchnorm/mul_1/Sum": "sequential_1/batch_normalization_1",
    "sequential/dense_2/kernel/Initializer/stateless_random_uniform/mul": "sequential/dense_2",
    "sub_1/lstm_1/while/lstm_cell_1/MatMul_1": "sub_1/lstm_1/lstm_cell_1",
    "sub_1/lstm_1/TensorArrayUnstack/TensorListFromTensor": "sub_1/lstm_1",
    "gradient_tape/sub_1/lstm_1/while/gradients/sub_1/lstm_1/while/cell_1/mul_2_grad/Mul": "sub_1/lstm_1/cell_1",
    "gradient_tape/sub_1/lstm_1/while/gradients/AddN": "sub_1/lstm_1",
    "functional_1_1/att_1/value_1/Reshape/shape": "functional_1_1/att_1/value_1",
    "functional_1_1/att_1/einsum_1/Einsum": "functional_1_1/att_1",
    "functional_1_1/add_1/Add": "functional_1_1/add_1",
    "compile_loss/mse/div_no_nan": "compile_loss/mse",
    "gradient_tape/compile_loss/mse/div_no_nan/Neg": "compile_loss/mse",
    "adam/AssignSubVariableOp_9": "adam",
    "cnn_1/conv2d_1/convolution/ReadVariableOp": "cnn_1/conv2d_1",
    "StatefulPartitionedCall/cnn_1/flatten_1/Reshape/shape/1": "cnn_1/flatten_1",
    "AssignVariableOp_2": None,
    "range/start": None,
}
KERAS_2 = {
    "sequential/dense/MatMul/ReadVariableOp": "sequential/dense",
    "sequential/dropout/dropout/random_uniform/RandomUniform": "sequential/dropout",
    "sequential/batch_normalization/AssignMovingAvg/mul": "sequential/batch_normalization",
    "sequential/block/layer_normalization/zeros/packed": "sequential/block/layer_normalization",
    "gradient_tape/sequential/block/dense_1/MatMul/MatMul_1": "sequential/block/dense_1",
    "gradient_tape/sub/embedding/embedding_lookup/ExpandDims": "sub/embedding",
    "model/att/dropout/Identity": "model/att/dropout",
    "model/att/query/einsum/Einsum/ReadVariableOp": "model/att/query",
    "model/time_distributed/dense_6/BiasAdd": "model/time_distributed/dense_6",
    "model/add/add": "model/add",
    "mean_squared_error/weighted_loss/num_elements/Cast": "mean_squared_error",
    "SparseSoftmaxCrossEntropyWithLogits/SparseSoftmaxCrossEntropyWithLogits": None,
    "gradients/while_grad/gradients/while/MatMul_grad/MatMul": None,
    "while/TensorArrayV2Read/TensorListGetItem": None,
    "gradient_tape/pow/mul_1": None,
    "gradient_tape/Reshape": None,
}
NO_KERAS = {
    "lin/matmul/ReadVariableOp": "lin",
    "loss/strided_slice/stack_1": "loss",
    "looped/while/cond/truediv/y": "looped",
    "Encoder/Dense1/MatMul": "Encoder/Dense1",
    "Log": None,
    "": None,
    "///": None,
}


@pytest.mark.parametrize(("name", "layer"), [*KERAS_3.items(), *KERAS_2.items(), *NO_KERAS.items()])
def test_layer(name: str, layer: str | None) -> None:
    assert layer_of(name) == layer


CALLED = {"net_1": "net", "net_1/dense_1_1": "net/dense_1", "net_1/unit_1/norm": "net/unit", "adam_2": "optimizer adam"}


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("net_1/dense_1_1/MatMul", "net/dense_1"),
        ("net_1/dense_1_1/MatMul/ReadVariableOp", "net/dense_1"),
        ("net_1/dense_2/MatMul", "net/dense_2"),
        ("net_1/unit_1/norm/Sum", "net/unit"),
        ("adam_2/AssignSubVariableOp", "optimizer adam"),
        ("other_1/MatMul", "other_1"),
        ("net_10/MatMul", "net_10"),
        ("MatMul", None),
    ],
)
def test_layer_as_the_program_calls_it(name: str, layer: str | None) -> None:
    assert layer_of(name, CALLED) == layer
