"""The Keras layer, or name scope, of an op, read from its node's name."""

from __future__ import annotations

import re
from collections.abc import Mapping

_NUMBER = re.compile(r"(_\d+)+$")  # TensorFlow adds it to a name that is taken
_LOWERED = re.compile(r"_\d+")  # `while/body/_12/…`: a remainder of a lowered loop
REPLICA = re.compile(r"replica_(\d+)")  # the scope that MirroredStrategy opens for all replicas but the first

# Gradients repeat the forward op's scopes behind one of these.
_GRADIENTS = frozenset(["gradient_tape", "gradients"])

# Scopes that say how an op came to run, not which layer it belongs to.
_CALLS = frozenset(["StatefulPartitionedCall", "PartitionedCall", "while", "cond", "body", "true_fn", "false_fn"])

# Functions of TensorFlow that open scopes inside their scope: no op in there is the program's.
_DETAILS = frozenset(["moments", "batchnorm", "weighted_loss", "embedding_lookup", "stateless_dropout"])

# Scopes that TensorFlow's own functions open, and composite ops. None is a likely name of a layer.
_OPS = frozenset(
    """
    add sub mul truediv floordiv mod pow matmul div_no_nan einsum convolution transpose strided_slice concat stack
    unstack split shape range zeros ones zeros_like ones_like packed one_hot accumulator num_elements l2_normalize
    sufficient_statistics sequence_mask boolean_mask stateless_random_uniform stateless_random_normal
    stateless_truncated_normal random_uniform random_normal truncated_normal embedding_lookup_sparse
    clip_by_global_norm clip_by_norm clip_by_value global_norm log_loss

    Add AddV2 Sub Mul RealDiv FloorDiv FloorMod Pow Neg Abs Exp Log Sqrt Square Sum Mean Max Min Prod Maximum Minimum
    MatMul BatchMatMul BatchMatMulV2 Einsum Tensordot Conv1D Conv2D Conv3D DepthwiseConv2d MaxPool MaxPool2d AvgPool
    BiasAdd Relu Sigmoid Tanh Softmax LogSoftmax Cast Reshape Transpose ExpandDims Squeeze Slice StridedSlice
    StridedSliceGrad GatherV2 Gather SelectV2 Select Tile BroadcastTo Rank Shape Fill ArgMax ArgMin ReverseV2 Pad
    Equal NotEqual Less LessEqual Greater GreaterEqual LogicalAnd Assert Placeholder Read ReadVariableOp
    Gelu Repeat SparseSoftmaxCrossEntropyWithLogits SoftmaxCrossEntropyWithLogits
    """.split()  # noqa: SIM905  a list would take a line for each
)
_OP_FAMILIES = ("TensorArray", "TensorList", "StatelessRandom", "Assign", "FusedBatchNorm", "assert_")


def layer_of(node_name: str, called: Mapping[str, str] | None = None) -> str | None:
    """Return the program's scopes of a node, e.g. `model/dense_1`, or None for an op without a scope.

    For a gradient op whose forward op is known, pass the forward op's name. `called` maps scope names in the graph to
    the names that the program gave them.
    """
    if called:
        node_name = _as_called(node_name, called)
    *scopes, leaf = node_name.split("/")
    for piece in reversed(_between_gradients(scopes)):
        layer = _without_ops(piece, leaf)
        if layer:
            return "/".join(layer)
    return None


def _as_called(node_name: str, called: Mapping[str, str]) -> str:
    at = node_name.rfind("/")
    while at > 0:
        path = called.get(node_name[:at])
        if path is not None:
            return path + node_name[at:]
        at = node_name.rfind("/", 0, at)
    return node_name


def _between_gradients(scopes: list[str]) -> list[list[str]]:
    pieces: list[list[str]] = [[]]
    for scope in scopes:
        if _plain(scope) in _GRADIENTS:
            pieces.append([])
        else:
            pieces[-1].append(scope)
    return pieces


def _without_ops(scopes: list[str], leaf: str) -> list[str]:
    """Return scopes without those that say how an op ran, and without the ops at the end."""
    own = (scope for scope in _before_details(scopes) if scope and not REPLICA.fullmatch(scope))
    named = (scope for scope in own if not _LOWERED.fullmatch(scope))
    kept = [scope for scope in named if _plain(scope) not in _CALLS]
    if kept and _plain(kept[-1]) == "add" and _plain(leaf) in ("add", "Add", "AddV2"):
        return kept  # Keras names its Add layer like an op
    while kept and (_is_op(_plain(kept[-1])) or _is_repeated(kept)):
        kept.pop()
    return kept


def _before_details(scopes: list[str]) -> list[str]:
    """Cut the scopes before a function's, an op's gradient, or a variable's initial value."""
    for at, scope in enumerate(scopes):
        if scope.endswith("_grad") or _plain(scope) in _DETAILS:
            return scopes[:at]
        if _plain(scope) == "Initializer":
            return scopes[: max(0, at - 1)]  # without the variable's name
    return scopes


def _is_op(name: str) -> bool:
    return name in _OPS or name.startswith(_OP_FAMILIES)


def _is_repeated(scopes: list[str]) -> bool:
    """Return whether a scope repeats, as in `dropout/dropout`: the layer, then its function of the same name."""
    return len(scopes) > 1 and scopes[-1] == "dropout" and _plain(scopes[-2]) == "dropout"


def _plain(scope: str) -> str:
    return _NUMBER.sub("", scope)
