"""Kinds of TensorFlow ops, by name."""

from __future__ import annotations

# The output has exactly the input's elements, and so the input's health.
VIEWS = frozenset(
    [
        "Identity",
        "Reshape",
        "Transpose",
        "Squeeze",
        "ExpandDims",
        "StopGradient",
        "PreventGradient",
        "EnsureShape",
        "Snapshot",
        "CheckNumerics",
        "CheckNumericsV2",
        "Reverse",
        "ReverseV2",
        "Roll",
        "IdentityN",
    ]
)

UNFED_DEFAULTS = frozenset(["PlaceholderWithDefault"])  # in a session that feeds it, it is a feed

# Their outputs are the results of their functions.
CALLS = frozenset(["PartitionedCall", "StatefulPartitionedCall"])
LOOPS = frozenset(["While", "StatelessWhile"])
BRANCHES = frozenset(["If", "StatelessIf", "Case", "StatelessCase"])
CONTROL_FLOW = LOOPS | BRANCHES
# Datasets that pass each element on unchanged, or drop it.
PASS_THROUGH_DATASETS = frozenset(
    [
        "AssertCardinalityDataset",
        "CacheDataset",
        "CacheDatasetV2",
        "FilterDataset",
        "ModelDataset",
        "OptionsDataset",
        "PrefetchDataset",
        "RepeatDataset",
        "ShuffleDataset",
        "ShuffleDatasetV3",
        "SkipDataset",
        "TakeDataset",
        "TakeWhileDataset",
    ]
)
OPAQUE_WRAPPERS = frozenset(["OptionalFromValue"])  # results inside these cannot be recorded from outside

# The loops and conditionals of TensorFlow 1, made of single nodes: a value enters a loop, starts the next iteration,
# merges with another value, or is passed through.
LOOP_ENTERS = frozenset(["Enter", "RefEnter"])
NEXT_ITERATIONS = frozenset(["NextIteration", "RefNextIteration"])
MERGES = frozenset(["Merge", "RefMerge"])
LOOP_EXITS = frozenset(["Exit", "RefExit"])
CONTROL_FLOW_PASSES = LOOP_ENTERS | NEXT_ITERATIONS | LOOP_EXITS | {"Switch", "RefSwitch"}

# They stand for the contents of a TensorArray: a meaningless number that orders the ops that fill the array.
TENSOR_ARRAYS = frozenset(["TensorArrayV3", "TensorArrayGradV3", "TensorArrayGradWithShape"])
TENSOR_ARRAYS |= {"TensorArrayWriteV3", "TensorArrayScatterV3", "TensorArraySplitV3"}

# Finite inputs give finite outputs: not examined in the modes that only record whether a value is bad.
KEEP_FINITE = frozenset(
    [
        "Abs",
        "BroadcastTo",
        "Ceil",
        "ClipByValue",
        "Concat",
        "ConcatV2",
        "Cos",
        "DepthToSpace",
        "DynamicStitch",
        "Erf",
        "Floor",
        "Gather",
        "GatherNd",
        "GatherV2",
        "LeakyRelu",
        "MaxPool",
        "Maximum",
        "Minimum",
        "MirrorPad",
        "Neg",
        "OneHot",
        "OnesLike",
        "Pack",
        "Pad",
        "PadV2",
        "Relu",
        "Relu6",
        "ResourceGather",
        "Rint",
        "Round",
        "Select",
        "SelectV2",
        "Sigmoid",
        "Sign",
        "Sin",
        "Slice",
        "Softmax",
        "SpaceToDepth",
        "Split",
        "SplitV",
        "StridedSlice",
        "Tanh",
        "Tile",
        "Unpack",
        "ZerosLike",
    ]
)

# Values that never change during the run, or that no op of the user computed.
STATIC_VALUES = frozenset(["Const", "Placeholder", "NoOp"])

# TensorFlow removes these before it measures the size of a graph.
PRUNED_OPS = frozenset(["Identity", "NoOp"])

SESSION_RUN = "Session.run"  # our own name for a run of a session

# Our own name for Python arrays and numbers that TensorFlow gets.
FEED = "Feed"

# Their outputs come from outside: no op of the program's graph computed them.
EXTERNAL_SOURCES = frozenset(
    [
        FEED,
        "Argument",
        "IteratorGetNext",
        "IteratorGetNextSync",
        "PyFunc",
        "PyFuncStateless",
        "EagerPyFunc",
        "RestoreV2",
        "ReadFile",
        "DecodeCSV",
        "DecodeRaw",
        "DecodePaddedRaw",
        "ParseTensor",
        "ParseExampleV2",
        "ParseSingleExample",
        "StringToNumber",
    ]
)
VARIABLE_READS = frozenset(["ReadVariableOp", "ResourceGather", "ResourceGatherNd", "ResourceSparseGather"])

# They take a tensor out of a container, or from another worker: they compute nothing, so they make no bad value.
CARRIERS = frozenset(
    [
        "OptionalGetValue",
        "StackPopV2",
        "TensorArrayConcatV3",
        "TensorArrayGatherV3",
        "TensorArrayReadV3",
        "TensorListPopBack",
        "TensorListGetItem",
        "TensorListStack",
        "TensorListConcatV2",
        "TensorListGather",
        "CollectiveReduce",
        "CollectiveReduceV2",
        "CollectiveReduceV3",
        "CollectiveGather",
        "CollectiveGatherV2",
        "CollectiveBcastRecv",
        "CollectiveBcastRecvV2",
        "CollectiveAllToAllV2",
        "CollectiveAllToAllV3",
        "CollectiveReduceScatterV2",
        "NcclAllReduce",
        "_Recv",
        "_HostRecv",
    ]
)

# Their outputs combine values of all devices or workers.
COLLECTIVES = frozenset(op for op in CARRIERS if op.startswith(("Collective", "Nccl")))

# TensorFlow's own debuggers read a value through them. They compute nothing that the program uses.
DEBUG_OPS = frozenset(["DebugIdentity", "DebugIdentityV2", "DebugIdentityV3", "DebugNumericSummaryV2"])

# They raise when a value is NaN or infinite.
NUMERICS_CHECKS = frozenset(["CheckNumerics", "CheckNumericsV2"])

PYTHON_FUNCTIONS = frozenset(["PyFunc", "PyFuncStateless", "EagerPyFunc"])  # they pass their inputs to Python

# They show a value to people, or store it outside of TensorFlow: as text, in summaries, in files.
HAND_OUTS = frozenset(
    ["AsString", "Print", "PrintV2", "StringFormat", "SerializeTensor", "Save", "SaveSlices", "SaveV2"]
)
HAND_OUTS |= {"ScalarSummary", "WriteScalarSummary", "WriteSummary", "TensorSummary", "TensorSummaryV2"}

# They test whether a value is bad, and return nothing of it.
VALUE_TESTS = frozenset(
    ["IsNan", "IsInf", "IsFinite", "Equal", "NotEqual", "Greater", "GreaterEqual", "Less", "LessEqual", "Size", "Shape"]
)
# They order values, and an infinity has a place in that order.
ORDER_OPS = frozenset(["ArgMax", "ArgMin", "TopK", "TopKV2"])

# They read a tensor's shape, but no value.
SHAPE_OPS = frozenset(["Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike"])

SELECTS = frozenset(["Select", "SelectV2"])

# They hold a variable in a graph. The last two are the old kind, which ops take by reference.
VARIABLE_OPS = frozenset(["VarHandleOp", "VariableV2", "Variable"])
VARIABLE_USES = VARIABLE_OPS | VARIABLE_READS

WRITE_PREFIXES = ("Assign", "ResourceApply", "ResourceSparseApply", "ResourceScatter", "Apply", "SparseApply")
SCATTER_WRITES = frozenset(
    [f"Scatter{what}" for what in ("Update", "Add", "Sub", "Mul", "Div", "Min", "Max")]
    + [f"ScatterNd{what}" for what in ("Update", "Add", "Sub", "Min", "Max")]
)

AMOUNT_WRITES = frozenset(["AssignAddVariableOp", "AssignSubVariableOp"])  # add to a variable, or subtract from it


def is_dataset(op: str) -> bool:
    """Return whether an op makes a dataset, which runs its functions on elements and not on its own inputs."""
    return "Dataset" in op


def writes_variables(op: str) -> bool:
    return op.startswith(WRITE_PREFIXES) or op in SCATTER_WRITES


_UPDATE_PREFIXES = ("ResourceApply", "ResourceSparseApply", "Apply", "SparseApply")


def applies_gradients(op: str) -> bool:
    """Return whether it is the update of a variable by an optimizer of TensorFlow 1."""
    return op.startswith(_UPDATE_PREFIXES)


# They may take long and have no recorded output, or not always: batches of integers, texts, copies.
INPUT_OPS = ("IteratorGetNext", "OptionalGetValue")
_SLOW_AND_UNSEEN = (
    *INPUT_OPS,
    *("PyFunc", "EagerPyFunc", "ParseExample", "DecodeJpeg", "DecodePng", "ReadFile"),
    *("Transpose", "Reverse", "Roll"),
)


def needs_end_mark(op: str) -> bool:
    """Return whether an op's end is recorded. An AssignVariableOp only takes a value over: not worth a row."""
    return (writes_variables(op) and op != "AssignVariableOp") or op.startswith(_SLOW_AND_UNSEEN)


# Healthy inputs can give a bad output, which the inputs' statistics explain: those are recorded in full.
CAN_MAKE_BAD = frozenset(
    [
        "Acos",
        "Acosh",
        "Asin",
        "Atanh",
        "Cast",
        "Cholesky",
        "Digamma",
        "Div",
        "Erfinv",
        "Exp",
        "Expm1",
        "Lgamma",
        "Log",
        "Log1p",
        "MatrixInverse",
        "Ndtri",
        "Pow",
        "RealDiv",
        "Reciprocal",
        "Rsqrt",
        "RsqrtGrad",
        "Sqrt",
        "SqrtGrad",
        "Xdivy",
        "Xlog1py",
        "Xlogy",
    ]
)

# The output is bad exactly if an input is: no elements are added or left out.
KEEP_BAD = frozenset(
    [
        "Abs",
        "BroadcastTo",
        "Concat",
        "ConcatV2",
        "DepthToSpace",
        "MirrorPad",
        "Neg",
        "Pack",
        "Pad",
        "PadV2",
        "SpaceToDepth",
        "Tile",
    ]
)

# Their first output is the result. The others are statistics, which are NaN or infinite if nothing was counted.
BATCH_NORMS = frozenset(["FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"])

# They output values from the program's text: an infinity is there because somebody wrote it.
LITERALS = frozenset(["Const", "Fill"])
