"""Matrix products, convolutions, einsum, and linear algebra of a matrix."""

from __future__ import annotations

CURRENT_BATCH_MATMULS = frozenset(["BatchMatMulV2", "BatchMatMulV3"])  # made by TensorFlow 2
BATCH_MATMULS = CURRENT_BATCH_MATMULS | {"BatchMatMul"}  # with those of TensorFlow 1
PLAIN_MATMULS = frozenset(["MatMul"])  # of two matrices
CURRENT_MATMULS = CURRENT_BATCH_MATMULS | PLAIN_MATMULS  # made by TensorFlow 2
MATMULS = BATCH_MATMULS | PLAIN_MATMULS  # of one pair of matrices or many
BATCH_PRODUCTS = BATCH_MATMULS | {"Einsum"}  # products for each sample
PRODUCTS = MATMULS | {"Einsum"}  # every product of matrices
CONVOLUTIONS = frozenset(["Conv1D", "Conv2D", "Conv3D"])  # of signals, images, volumes
LAYER_PRODUCTS = PRODUCTS | CONVOLUTIONS  # a layer applies its weights with them

# Each output is a sum of many products, which may overflow.
OVERFLOWING_PRODUCTS = (
    CURRENT_MATMULS
    | CONVOLUTIONS
    | {
        *("Einsum", "Conv2DBackpropInput", "Conv2DBackpropFilter", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"),
        *("DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter"),
        *("_FusedConv2D", "_FusedMatMul", "SparseTensorDenseMatMul", "SparseMatMul"),
    }
)
# 0 times infinity, within them, is NaN.
ZERO_TIMES_INFINITY_OPS = CURRENT_MATMULS | {"Einsum", "Mul", "RealDiv", "Xlogy", "MulNoNan"}

# They fail or give NaN for a singular matrix.
FACTORISATIONS = frozenset(
    [
        "Cholesky",
        "CholeskyGrad",
        "MatrixInverse",
        "MatrixSolve",
        "MatrixTriangularSolve",
        "Qr",
        "Svd",
        "SelfAdjointEigV2",
    ]
)
DETERMINANTS = frozenset(["LogMatrixDeterminant", "MatrixDeterminant"])  # 0 for a singular matrix

# The output may be far larger than all inputs: outer products, broadcasts, patches.
GROWING_OPS = PLAIN_MATMULS | {
    *("Tile", "BroadcastTo", "OneHot", "Sub", "AddV2", "Add", "Mul", "SquaredDifference", "RealDiv"),
    *("BatchMatMulV2", "Einsum", "ExtractImagePatches", "SpaceToBatchND", "Pack", "Equal", "Outer"),
}
