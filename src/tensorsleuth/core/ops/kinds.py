"""Kinds of TensorFlow ops, by name."""

from __future__ import annotations

# The output holds the input's elements, no more and no less: its health is the input's.
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

# Their outputs are what their functions return.
CALLS = frozenset(["PartitionedCall", "StatefulPartitionedCall"])
LOOPS = frozenset(["While", "StatelessWhile"])
BRANCHES = frozenset(["If", "StatelessIf", "Case", "StatelessCase"])
CONTROL_FLOW = LOOPS | BRANCHES
# Datasets that hand on each element as they got it, or not at all.
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
OPAQUE_WRAPPERS = frozenset(["OptionalFromValue"])  # what a function returns in this cannot be looked at from outside

# The loops and conditionals of TensorFlow 1, made of single nodes: where a value enters a loop, starts the next
# iteration, comes together with another, or is only let through.
LOOP_ENTERS = frozenset(["Enter", "RefEnter"])
NEXT_ITERATIONS = frozenset(["NextIteration", "RefNextIteration"])
MERGES = frozenset(["Merge", "RefMerge"])
LOOP_EXITS = frozenset(["Exit", "RefExit"])
CONTROL_FLOW_PASSES = LOOP_ENTERS | NEXT_ITERATIONS | LOOP_EXITS | {"Switch", "RefSwitch"}

# What stands for the contents of a TensorArray: a number that means nothing, and orders the ops that put them in.
TENSOR_ARRAYS = frozenset(["TensorArrayV3", "TensorArrayGradV3", "TensorArrayGradWithShape"])
TENSOR_ARRAYS |= {"TensorArrayWriteV3", "TensorArrayScatterV3", "TensorArraySplitV3"}

# Finite inputs give finite outputs: no need to look in the modes that only ask whether something is bad.
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

# Values that never change while the program runs, or that no user's op computed.
STATIC_VALUES = frozenset(["Const", "Placeholder", "NoOp"])

# TensorFlow takes these out before it looks at how large a graph is.
PRUNED_OPS = frozenset(["Identity", "NoOp"])

# Our own name for what Python hands to TensorFlow: arrays, numbers.
FEED = "Feed"

# What these put out came from outside: no op of the program's graph computed it.
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

# They take a tensor out of something that holds it, or from another worker: nothing is computed, so nothing is born.
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

# What they put out was put together from what all devices, or workers, gave.
COLLECTIVES = frozenset(op for op in CARRIERS if op.startswith(("Collective", "Nccl")))

# TensorFlow's own debuggers look at a value through them, and compute nothing that the program uses.
DEBUG_OPS = frozenset(["DebugIdentity", "DebugIdentityV2", "DebugIdentityV3", "DebugNumericSummaryV2"])

# They raise when a value is NaN or infinite.
NUMERICS_CHECKS = frozenset(["CheckNumerics", "CheckNumericsV2"])

PYTHON_FUNCTIONS = frozenset(["PyFunc", "PyFuncStateless", "EagerPyFunc"])  # they hand their inputs to Python

# They show a value to people, or store it outside of TensorFlow: as text, in summaries, in files.
HAND_OUTS = frozenset(
    ["AsString", "Print", "PrintV2", "StringFormat", "SerializeTensor", "Save", "SaveSlices", "SaveV2"]
)
HAND_OUTS |= {"ScalarSummary", "WriteScalarSummary", "WriteSummary", "TensorSummary", "TensorSummaryV2"}

# They ask whether a value is bad, and let nothing of it through.
VALUE_TESTS = frozenset(
    ["IsNan", "IsInf", "IsFinite", "Equal", "NotEqual", "Greater", "GreaterEqual", "Less", "LessEqual", "Size", "Shape"]
)
# They order values, in which an infinity has its place.
ORDER_OPS = frozenset(["ArgMax", "ArgMin", "TopK", "TopKV2"])

# They look at a tensor's shape, and at no value.
SHAPE_OPS = frozenset(["Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike"])

SELECTS = frozenset(["Select", "SelectV2"])

# What holds a variable in a graph; the last two are the old kind, which ops take by reference.
VARIABLE_OPS = frozenset(["VarHandleOp", "VariableV2", "Variable"])
VARIABLE_USES = VARIABLE_OPS | VARIABLE_READS

WRITE_PREFIXES = ("Assign", "ResourceApply", "ResourceSparseApply", "ResourceScatter", "Apply", "SparseApply")
SCATTER_WRITES = frozenset(
    [f"Scatter{what}" for what in ("Update", "Add", "Sub", "Mul", "Div", "Min", "Max")]
    + [f"ScatterNd{what}" for what in ("Update", "Add", "Sub", "Min", "Max")]
)


def is_dataset(op: str) -> bool:
    """Return whether an op makes a dataset, which runs its functions on elements and not on its own inputs."""
    return "Dataset" in op


def writes_variables(op: str) -> bool:
    return op.startswith(WRITE_PREFIXES) or op in SCATTER_WRITES


# What may take long and puts out nothing that is looked at, or not always: batches of integers, texts, copies.
INPUT_OPS = ("IteratorGetNext", "OptionalGetValue")
_SLOW_AND_UNSEEN = (
    *INPUT_OPS,
    *("PyFunc", "EagerPyFunc", "ParseExample", "DecodeJpeg", "DecodePng", "ReadFile"),
    *("Transpose", "Reverse", "Roll"),
)


def needs_end_mark(op: str) -> bool:
    """Is the end of such an op noted. An AssignVariableOp only takes over what was computed: not worth a row."""
    return (writes_variables(op) and op != "AssignVariableOp") or op.startswith(_SLOW_AND_UNSEEN)


# Healthy inputs can give a bad output, and what the inputs were says why: those are looked at in full.
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

# The output is bad where, and only where, an input is: nothing is added, and nothing left out.
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

# Their first output is the result; the others are statistics, not finite where there is nothing to count.
BATCH_NORMS = frozenset(["FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"])

# They put out what the program gave them: an infinity is there because it was written down.
LITERALS = frozenset(["Const", "Fill"])
