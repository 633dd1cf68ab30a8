"""Ops that reduce axes, and the losses made with them."""

from __future__ import annotations

from tensorsleuth.core.ops.elementwise import ADDITIONS

LOSS_REDUCTIONS = frozenset(["Sum", "Mean"])  # from the loss of each sample to one number
REDUCTIONS = LOSS_REDUCTIONS | {"Max", "Min", "Prod", "All", "Any"}  # of some axes or of all
POOLING_REDUCTIONS = LOSS_REDUCTIONS | {"Max"}  # several feature vectors become one
MAX_POOLS = frozenset(["MaxPool", "MaxPoolV2", "MaxPool3D"])  # their padding is the lowest number

# A mean over samples, also if it is weighted or written by hand.
AVERAGING_OPS = LOSS_REDUCTIONS | {"RealDiv", "DivNoNan", "Mul", "Cast"}
# The last op of a loss, where its gradients begin.
LOSS_ENDS = LOSS_REDUCTIONS | {"AddV2", "Mul", "RealDiv", "DivNoNan", "Neg", "Squeeze", "Identity"}

SPARSE_CROSS_ENTROPY = "SparseSoftmaxCrossEntropyWithLogits"  # takes class numbers
DENSE_CROSS_ENTROPY = "SoftmaxCrossEntropyWithLogits"  # takes a probability for each class
CROSS_ENTROPIES = frozenset([SPARSE_CROSS_ENTROPY, DENSE_CROSS_ENTROPY])  # losses from logits
LOG_PROBABILITY_OPS = frozenset(["LogSoftmax", "Sub"])  # also by hand: logits − logsumexp
LABEL_PICKS = LOSS_REDUCTIONS | {"Gather", "GatherV2", "GatherNd", "Mul"}  # from log probabilities to those of labels
PLAIN_SOFTMAXES = frozenset(["Softmax", "LogSoftmax"])  # over the last axis
SOFTMAXES = CROSS_ENTROPIES | PLAIN_SOFTMAXES  # they compute a softmax

# The activations that turn logits into probabilities, with the names that users know.
SQUASHING_OPS = {"Softmax": "softmax", "Sigmoid": "sigmoid"}
# How Hugging Face's losses recognise labels that count: != -100, >= 0.
COUNTED_LABEL_TESTS = {"NotEqual": "-100", "GreaterEqual": "0"}

# The ops of a dense layer's training step, in order, for synthetic traces.
EXAMPLE_STEP = ("MatMul", "BiasAdd", "Relu", "Mul", "Log", "Sum", "Sub", "AddV2", "RealDiv", "AssignSubVariableOp")

# Infinities of both signs, added, are NaN.
INFINITY_MINUS_INFINITY_OPS = ADDITIONS | {"Sub", "Sum", "Cumsum", "Mean", "SquaredDifference", "AddN"}
