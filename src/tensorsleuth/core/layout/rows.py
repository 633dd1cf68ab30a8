"""The fixed-width rows of a trace: what the probe writes and NumPy reads, byte for byte.

`native/src/files/rows.h` states the same layout for C++; a test holds the two equal.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

import numpy as np

from tensorsleuth.core.layout.histogram_bins import BINS

# One tensor that was computed.
#
#  0        8        16     20    24     28    32     34    35   36
#  | time   | step   |tensor|shape|uid_lo/iter|uid_hi/frame|thread|dtype|kind|flags|  40
#  | six counts, uint32 each                                                  |  64
#  | min | max | mean | std, float64 each                                     |  96
#  | first_bad, uint64                                                        | 104
EVENT = np.dtype(
    [
        ("time", "<u8"),  # nanoseconds, monotonic; the ring's header gives the epoch
        ("step", "<u8"),  # eager: the call's number; graph: TensorFlow's step id (joined by a call row)
        ("tensor", "<u4"),  # id of the tensor in the catalogue
        ("shape", "<u4"),  # row in the shape table, 0 where not looked at
        ("iteration", "<u4"),  # graph: iteration of the innermost loop; eager: low half of the tensor's uid
        ("frame", "<u4"),  # graph: which loop frame (folded); eager: high half of the tensor's uid
        ("thread", "<u2"),
        ("dtype", "u1"),  # TensorFlow's DataType number
        ("kind", "u1"),  # EventKind; 0 is a row that was never finished
        ("flags", "<u4"),  # EventFlag
        ("neg_inf", "<u4"),
        ("pos_inf", "<u4"),
        ("nan", "<u4"),
        ("neg", "<u4"),
        ("zero", "<u4"),
        ("pos", "<u4"),
        ("min", "<f8"),
        ("max", "<f8"),
        ("mean", "<f8"),
        ("std", "<f8"),
        ("first_bad", "<u8"),  # flat index of the first value that is not finite
    ]
)

# One eager execution: an op, or a call of a function.
CALL = np.dtype(
    [
        ("time", "<u8"),
        ("call", "<u8"),  # its number, counted from 1 in each process
        ("step", "<i8"),  # the training step it belongs to, -1 where there is none
        ("op", "<u4"),  # id of the op in the catalogue
        ("thread", "<u2"),
        ("inputs_count", "u1"),  # how many of `inputs` are used
        ("kind", "u1"),  # CallKind; 0 is a row that was never finished
        ("duration", "<u8"),  # nanoseconds
        ("tf_step", "<u8"),  # JOIN: the TensorFlow step id that belongs to `call`
        ("inputs", "<u8", (6,)),  # uids of the tensors that went in
    ]
)

# The value of one tensor, kept in full; its bytes are at `offset` in values.bin.
VALUE = np.dtype(
    [
        ("event", "<u8"),  # number of the event in its stream
        ("offset", "<u8"),
        ("size", "<u8"),
        ("kind", "<u8"),  # 1; 0 is a row that was never finished
    ]
)

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)

# What a watched tensor was, once; a row of watched.bin.
WATCHED = np.dtype(
    [
        ("time", "<u8"),
        ("step", "<i8"),  # the training step
        ("run", "<u8"),  # as `step` of EVENT
        ("series", "<u4"),  # in the catalogue
        ("iteration", "<u4"),  # of the innermost loop
        ("shape", "<u4"),
        ("thread", "<u2"),
        ("dtype", "u1"),
        ("kind", "u1"),  # EventKind; 0 is a row that was never finished
        ("flags", "<u4"),  # What
        ("kept", "<u4"),  # how many of the first dimension, of an image; how many texts
        ("elements", "<u8"),
        ("nan", "<u8"),
        ("neg_inf", "<u8"),
        ("pos_inf", "<u8"),
        ("zero", "<u8"),
        ("min", "<f8"),  # these four of the finite values
        ("max", "<f8"),
        ("sum", "<f8"),
        ("norm", "<f8"),
        ("before", "<f8"),  # of a variable: its norm before the step
        ("change", "<f8"),  # and the norm of what the step added
        ("quantiles", "<f8", (len(QUANTILES),)),
        ("bins", "<u4", (BINS,)),  # between min and max, all of one width
    ]
)

# What was seen inside of the model; a row of inside.bin.
INSIDE_ROW = np.dtype([(name, WATCHED[name]) for name in WATCHED.names or () if name not in ("quantiles", "bins")])

# How much memory the process used at one moment; a row of memory.bin, about every 50 ms where something changed.
MEMORY = np.dtype(
    [
        ("time", "<u8"),
        ("step", "<i8"),  # the training step
        ("resident", "<u8"),  # bytes
        ("anonymous", "<u8"),  # of these, what is not mapped from files
        ("group_used", "<u8"),  # by the process's cgroup, with its page cache; 0 where there is none
        ("group_limit", "<u8"),  # the smallest limit of it and of those around it; 0 where there is none
        ("available", "<u8"),  # on the machine, for all
        ("allocated", "<u8"),  # by malloc, in use; 0 where it does not say
        ("kept", "<u8"),  # by malloc, free and not given back
        ("kind", "<u8"),  # 1; 0 is a row that was never finished
    ]
)

# Where a tensor of LEAST_BUFFER bytes or more lay when it was seen, or that Python let go of one; a row of buffers.bin.
# Eager handles of variables have rows, too, with neither address nor bytes.
BUFFER = np.dtype(
    [
        ("time", "<u8"),
        ("step", "<u8"),  # as `step` of EVENT
        ("address", "<u8"),
        ("bytes", "<u8"),
        ("tensor", "<u4"),  # these four as those of EVENT
        ("shape", "<u4"),
        ("iteration", "<u4"),
        ("frame", "<u4"),
        ("thread", "<u2"),
        ("dtype", "u1"),
        ("kind", "u1"),  # BufferKind; 0 is a row that was never finished
        ("flags", "<u4"),  # as those of EVENT: only the device and STEADY are used
    ]
)
MIN_BUFFER_BYTES = 64 << 10

# An op that puts nothing out that is looked at has ended; a row of passed.bin.
PASSED = np.dtype(
    [
        ("time", "<u8"),
        ("tf_step", "<u8"),
        ("first", "<u4"),  # tensor id of its function's instance
        ("node", "<u4"),  # its number there
        ("thread", "<u2"),
        ("spare", "u1"),
        ("kind", "u1"),  # 1; 0 is a row that was never finished
        ("more", "<u4"),
    ]
)

# One row of ids that a model was given; a row of inside_row_hashes.bin. See native/src/observers/input_rows.h.
INPUT_ROW = np.dtype(
    [
        ("batch", "<u8"),  # the same for all that one call was given at once
        ("whole", "<u8"),  # a hash of all ids
        ("headless", "<u8"),  # without the run of equal ids that it begins with
        ("tailless", "<u8"),  # without that which it ends with
        ("first", "<u4"),  # the ids of which these runs are, their lower half
        ("last", "<u4"),
        ("series", "<u4"),  # in the catalogue
        ("fit", "<u4"),  # how many calls of Keras's `fit` had begun
        ("step", "<i4"),  # the training step
        ("row", "<u2"),  # its number in the batch
        ("flags", "u1"),  # Long
        ("kind", "u1"),  # 1; 0 is a row that was never finished
    ]
)

# A shape, named by the number of its row plus one.
SHAPE = np.dtype([("rank", "<u8"), ("dims", "<u8", (8,)), ("kind", "<u8")])

SAMPLE_TIME_SHIFT = 9  # bits 9 to 15 of an event's flags: how long the look took, `look_bits` in rows.h
SAMPLE_TIME_CODES = 128
DEVICE_SHIFT = 16  # the upper half of an event's flags: number of its logical device, from 1; 0 where not known
NO_INDEX = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
NO_UID = 0xFFFF_FFFF_FFFF_FFFF  # an input that was no tensor yet; 0 is the first tensor of a process


class EventKind(IntEnum):
    """The kind of place where a tensor was computed."""

    EAGER = 1
    GRAPH = 2


class BufferKind(IntEnum):
    """The kind of a row of buffers.bin."""

    EAGER = 1  # an eager op, or a conversion, made it
    GRAPH = 2  # a probe saw it
    FREED = 3  # the Python object of an eager tensor is gone: the row is that of its birth, with another time


class EventFlag(IntFlag):
    """The facts about the tensor of an event."""

    BAD = 1  # holds a NaN or an infinity
    LOOKED = 2  # its health was looked at (not so in NO_TENSOR and SHAPE)
    COUNTED = 4  # the six counts are filled in
    RANGED = 8  # min and max are filled in
    MOMENTS = 16  # mean and std are filled in
    SATURATED = 32  # a count did not fit in 32 bits
    DEVICE = 64  # summarised on the device, not by the host's kernel
    VALUE = 128  # its value is in values.bin
    STEADY = 256  # evaluated once, while the graph was optimised


class MeasureFlag(IntFlag):
    """The measures of a watched tensor: requested in a series, present in a row."""

    SCALAR = 1
    NORM = 2
    HISTOGRAM = 4
    QUANTILES = 8
    IMAGE = 16
    TEXT = 32
    VALUE = 64
    EXACT = 128  # the quantiles are not taken from the histogram
    COMPARED = 256  # `before` and `change` are filled in
    UNITS = 512  # they are how many units are dead, of how many
    ATTENTION = 1024  # what native/src/kernels/attention.h keeps lies beside the row


class LongRowFlag(IntFlag):
    """A flag for hashes of rows with 4 tokens or more. Shorter rows are equal by chance."""

    WHOLE = 1
    HEADLESS = 2
    TAILLESS = 4


class CallKind(IntEnum):
    """The kind of a row of calls.bin."""

    OP = 1
    FUNCTION = 2  # written before the function runs, so that a crash inside it has a call to belong to
    MORE_INPUTS = 3  # more `inputs` of the call that the row before names
    JOIN = 4  # `tf_step` ran on behalf of `call`
    FAILED = 5  # the call raised; the catalogue has its message
    ENDED = 6  # the function call came back after `duration`
    REPLAYING = 7  # this call is that of `inputs[0]`, run again
    REPLAYED = 8  # this call is better seen as `inputs[0]`, which ran it again with the same outcome
    BATCH = 9  # a Keras loop moved on: `op` is its Phase, `inputs` the epoch + 1 and the batch + 1, 0 for none
