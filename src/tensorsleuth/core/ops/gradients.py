"""Ops that gradients do not pass, and ops that TensorFlow adds to compute gradients."""

from __future__ import annotations

from tensorsleuth.core.ops.activations import RELUS
from tensorsleuth.core.ops.data_ops import PYTHON_OPS
from tensorsleuth.core.ops.elementwise import STEPS
from tensorsleuth.core.ops.views import ALL_COPIES, LIKES

GRADIENT_BLOCKS = frozenset(["StopGradient", "PreventGradient"])  # the program stops gradients here
GRADIENT_CUTS = GRADIENT_BLOCKS | PYTHON_OPS  # TensorFlow passes no gradient through them
# Flat except for jumps: their slope is 0, or TensorFlow has no gradient for them.
STEP_FUNCTIONS = STEPS | {"FloorDiv", "ArgMax", "ArgMin", "OneHot", "Bucketize"}
EAGER_GRADIENT_STOPS = GRADIENT_BLOCKS | STEPS | LIKES  # in code without a graph

# From one layer to the next, without a normalisation between them.
LAYER_PASSES = RELUS | ALL_COPIES | {"BiasAdd", "AddV2", "Tanh", "Elu", "Selu", "Softplus", "Sigmoid", "Mul"}

EMPTY_LISTS = frozenset(["EmptyTensorList", "Const"])  # the initial value of the list of a loop's values
# TensorFlow adds them to a forward pass so that it can differentiate loops.
LOOP_SAVING_OPS = EMPTY_LISTS | {"TensorListPushBack", "TensorListElementShape", "Placeholder"}
CONTAINER_PREFIXES = ("TensorList", "TensorArray", "Stack", "OptionalFromValue")  # keep a tensor until it is taken out
