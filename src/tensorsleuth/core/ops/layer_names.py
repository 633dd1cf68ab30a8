"""The Keras layer, or name scope, that an op was made in: read from its node's name."""

from __future__ import annotations

import re
from collections.abc import Mapping

_NUMBER = re.compile(r"(_\d+)+$")  # what TensorFlow adds to a name that is taken
_LOWERED = re.compile(r"_\d+")  # `while/body/_12/…`: what lowering a loop leaves behind
REPLICA = re.compile(r"replica_(\d+)")  # the scope that MirroredStrategy opens for all but the first replica

# Gradients repeat the forward op's scopes behind one of these.
_GRADIENTS = frozenset(["gradient_tape", "gradients"])

# How an op came to run, not whose it is.
_CALLS = frozenset(["StatefulPartitionedCall", "PartitionedCall", "while", "cond", "body", "true_fn", "false_fn"])

# Functions of TensorFlow that open scopes in their scope: nothing in there is the program's.
_DETAILS = frozenset(["moments", "batchnorm", "weighted_loss", "embedding_lookup", "stateless_dropout"])

# Scopes that TensorFlow's own functions open, and ops that hold smaller ones. None is a likely name of a layer.
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
    """The scopes of a node that are the program's, e.g. `model/dense_1`; None for an op at the top.

    Where it is known which op a gradient differentiates, ask with that op's name. `called` has the names that the
    program gave to scopes which bear other names in its graph.
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
    """Less what says how an op ran, and less the ops at the end."""
    own = (scope for scope in _before_details(scopes) if scope and not REPLICA.fullmatch(scope))
    named = (scope for scope in own if not _LOWERED.fullmatch(scope))
    kept = [scope for scope in named if _plain(scope) not in _CALLS]
    if kept and _plain(kept[-1]) == "add" and _plain(leaf) in ("add", "Add", "AddV2"):
        return kept  # Keras names its Add layer so
    while kept and (_is_op(_plain(kept[-1])) or _is_repeated(kept)):
        kept.pop()
    return kept


def _before_details(scopes: list[str]) -> list[str]:
    """Cut where it goes into one function or the gradient of one op, and where a variable gets its first value."""
    for at, scope in enumerate(scopes):
        if scope.endswith("_grad") or _plain(scope) in _DETAILS:
            return scopes[:at]
        if _plain(scope) == "Initializer":
            return scopes[: max(0, at - 1)]  # less the variable's name
    return scopes


def _is_op(name: str) -> bool:
    return name in _OPS or name.startswith(_OP_FAMILIES)


def _is_repeated(scopes: list[str]) -> bool:
    """`dropout/dropout`: the layer, and in it the function of the same name."""
    return len(scopes) > 1 and scopes[-1] == "dropout" and _plain(scopes[-2]) == "dropout"


def _plain(scope: str) -> str:
    return _NUMBER.sub("", scope)
