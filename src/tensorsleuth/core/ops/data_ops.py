"""Ops through which data enters a program: iterators, files, Python, texts, embeddings."""

from __future__ import annotations

ITERATOR_READS = frozenset(["IteratorGetNext", "IteratorGetNextSync"])  # take the next element
DATASET_OUTPUTS = ITERATOR_READS | {"OptionalGetValue"}  # their outputs are elements of a dataset
DATA_READS = DATASET_OUTPUTS | {"ReadFile"}  # elements of a dataset, or files
STORED_VALUES = frozenset(["Const", "ReadVariableOp"])  # their outputs existed before the program ran them
FILE_READS = frozenset(["RestoreV2", "ReadFile"])  # checkpoints and other files
TENSOR_DATASETS = frozenset(["TensorDataset", "TensorSliceDataset"])  # of tensors of the program
SHUFFLING_DATASETS = frozenset(["ShuffleDataset", "ShuffleDatasetV2", "ShuffleDatasetV3"])  # a new order
SHUFFLING_DATASETS |= {"ShuffleAndRepeatDataset", "ShuffleAndRepeatDatasetV2"}
MAPPING_DATASETS = frozenset(["MapDataset", "ParallelMapDataset", "ParallelMapDatasetV2", "MapAndBatchDataset"])
# Their elements have as many tensors as those that they take.
UNCHANGED_DATASETS = SHUFFLING_DATASETS | {
    *("BatchDataset", "BatchDatasetV2", "ParallelBatchDataset", "PaddedBatchDatasetV2", "UnbatchDataset"),
    *("RepeatDataset", "PrefetchDataset", "TakeDataset", "SkipDataset", "ShardDataset", "FilterDataset"),
    *("CacheDataset", "CacheDatasetV2", "OptionsDataset", "AssertCardinalityDataset"),
}
ZIPPING_DATASETS = frozenset(["ZipDataset"])  # pair the elements of several, one by one
# Elements of several datasets, in an order that this project does not follow.
JOINING_DATASETS = ZIPPING_DATASETS | {
    *("ConcatenateDataset", "DirectedInterleaveDataset", "ExperimentalDirectedInterleaveDataset"),
    *("FlatMapDataset", "InterleaveDataset", "ParallelInterleaveDatasetV2", "ParallelInterleaveDatasetV3"),
    *("ParallelInterleaveDatasetV4", "ChooseFastestBranchDataset", "GeneratorDataset"),
}

PYTHON_OPS = frozenset(["EagerPyFunc", "PyFunc", "PyFuncStateless"])  # they call Python
WAITING_OPS = PYTHON_OPS | ITERATOR_READS | {"IteratorGetNextAsOptional", "QueueDequeueV2"}  # may wait for others
# A recording has no row for them.
UNRECORDED_OPS = frozenset(["ReadVariableOp", "VarHandleOp", "Const", "Placeholder", "NoOp", "ReadVariableXlaSplitND"])

EMBEDDING_LOOKUPS = frozenset(["GatherV2", "ResourceGather"])  # rows of a table, by id
ID_CONSUMERS = EMBEDDING_LOOKUPS | {"Gather", "StringToHashBucketFast"}  # take integers as ids

# Ops that take strings as text, with the number of that input. Strings of other ops may be anything.
TEXT_OPS = {
    "LookupTableFindV2": 1,
    "RegexReplace": 0,
    "RegexSplitWithOffsets": 0,
    "SentencepieceOp": 0,
    "SentencepieceTokenizeOp": 1,
    "SentencepieceTokenizeWithOffsetsOp": 1,
    "StaticRegexReplace": 0,
    "StringLower": 0,
    "StringNGrams": 0,
    "StringSplit": 0,
    "StringSplitV2": 0,
    "StringUpper": 0,
    "UnicodeDecode": 0,
    "UnicodeDecodeWithOffsets": 0,
    "UnicodeTranscode": 0,
    "WhitespaceTokenizeWithOffsets": 0,
    "WhitespaceTokenizeWithOffsetsV2": 0,
    "WordpieceTokenizeWithOffsets": 0,
}
PATTERN_INPUTS = {"RegexReplace": 1, "RegexSplitWithOffsets": 1, "StringSplitV2": 1}  # the input that is a pattern


def makes_iterator(op: str) -> bool:
    """Return whether an op makes an iterator over a dataset, and takes nothing from it yet."""
    return "Iterator" in op and "GetNext" not in op
