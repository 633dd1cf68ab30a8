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
        ("shape", "<u4"),  # row in the shape table, 0 if not recorded
        ("iteration", "<u4"),  # graph: iteration of the innermost loop; eager: low half of the tensor's uid
        ("frame", "<u4"),  # graph: loop frame (folded); eager: high half of the tensor's uid
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
        ("first_bad", "<u8"),  # flat index of the first NaN or infinite value
    ]
)

# One eager execution: an op, or a call of a function.
CALL = np.dtype(
    [
        ("time", "<u8"),
        ("call", "<u8"),  # its number, counted from 1 in each process
        ("step", "<i8"),  # its training step, -1 if it has none
        ("op", "<u4"),  # id of the op in the catalogue
        ("thread", "<u2"),
        ("inputs_count", "u1"),  # number of used `inputs`
        ("kind", "u1"),  # CallKind; 0 is a row that was never finished
        ("duration", "<u8"),  # nanoseconds
        ("tf_step", "<u8"),  # JOIN: the TensorFlow step id of `call`
        ("inputs", "<u8", (6,)),  # uids of its input tensors
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

# One sample of a watched tensor; a row of watched.bin.
WATCHED = np.dtype(
    [
        ("time", "<u8"),
        ("step", "<i8"),  # the training step
        ("run", "<u8"),  # as `step` of EVENT
        ("series", "<u4"),  # id in the catalogue
        ("iteration", "<u4"),  # of the innermost loop
        ("shape", "<u4"),
        ("thread", "<u2"),
        ("dtype", "u1"),
        ("kind", "u1"),  # EventKind; 0 is a row that was never finished
        ("flags", "<u4"),  # MeasureFlag
        ("kept", "<u4"),  # number of kept images along the first dimension; number of kept texts
        ("elements", "<u8"),
        ("nan", "<u8"),
        ("neg_inf", "<u8"),
        ("pos_inf", "<u8"),
        ("zero", "<u8"),
        ("min", "<f8"),  # these four describe the finite values
        ("max", "<f8"),
        ("sum", "<f8"),
        ("norm", "<f8"),
        ("before", "<f8"),  # of a variable: its norm before the step
        ("change", "<f8"),  # and the norm of its change in the step
        ("quantiles", "<f8", (len(QUANTILES),)),
        ("bins", "<u4", (BINS,)),  # of equal width, between min and max
    ]
)

# A sample of layer statistics; a row of inside.bin.
INSIDE_ROW = np.dtype([(name, WATCHED[name]) for name in WATCHED.names or () if name not in ("quantiles", "bins")])

# The memory of the process at one moment; a row of memory.bin, about every 50 ms if something changed.
MEMORY = np.dtype(
    [
        ("time", "<u8"),
        ("step", "<i8"),  # the training step
        ("resident", "<u8"),  # bytes
        ("anonymous", "<u8"),  # of these, not mapped from files
        ("group_used", "<u8"),  # by the process's cgroup, with its page cache; 0 without a cgroup
        ("group_limit", "<u8"),  # the smallest limit of the cgroup and its parents; 0 without a limit
        ("available", "<u8"),  # on the machine, for all
        ("allocated", "<u8"),  # in use, from malloc; 0 if malloc does not report it
        ("kept", "<u8"),  # free, but not returned by malloc
        ("kind", "<u8"),  # 1; 0 is a row that was never finished
    ]
)

# A tensor of LEAST_BUFFER bytes or more, with its address, or the release of one; a row of buffers.bin.
# Eager handles of variables have rows too, without address or bytes.
BUFFER = np.dtype(
    [
        ("time", "<u8"),
        ("step", "<u8"),  # as `step` of EVENT
        ("address", "<u8"),
        ("bytes", "<u8"),
        ("tensor", "<u4"),  # these four as in EVENT
        ("shape", "<u4"),
        ("iteration", "<u4"),
        ("frame", "<u4"),
        ("thread", "<u2"),
        ("dtype", "u1"),
        ("kind", "u1"),  # BufferKind; 0 is a row that was never finished
        ("flags", "<u4"),  # as in EVENT: only the device and STEADY are used
    ]
)
MIN_BUFFER_BYTES = 64 << 10

# The end of an op without recorded outputs; a row of passed.bin.
PASSED = np.dtype(
    [
        ("time", "<u8"),
        ("tf_step", "<u8"),
        ("first", "<u4"),  # first tensor id of its function's instance
        ("node", "<u4"),  # its number in the function
        ("thread", "<u2"),
        ("spare", "u1"),
        ("kind", "u1"),  # 1; 0 is a row that was never finished
        ("more", "<u4"),
    ]
)

# One row of ids that a model got; a row of inside_row_hashes.bin. See native/src/observers/input_rows.h.
INPUT_ROW = np.dtype(
    [
        ("batch", "<u8"),  # the same for all rows of one call
        ("whole", "<u8"),  # a hash of all ids
        ("headless", "<u8"),  # without the run of equal ids at its start
        ("tailless", "<u8"),  # without the run of equal ids at its end
        ("first", "<u4"),  # the lower half of the ids of these runs
        ("last", "<u4"),
        ("series", "<u4"),  # id in the catalogue
        ("fit", "<u4"),  # number of `fit` calls of Keras that had begun
        ("step", "<i4"),  # the training step
        ("row", "<u2"),  # its number in the batch
        ("flags", "u1"),  # LongRowFlag
        ("kind", "u1"),  # 1; 0 is a row that was never finished
    ]
)

# A shape. Its number is the number of its row plus one.
SHAPE = np.dtype([("rank", "<u8"), ("dims", "<u8", (8,)), ("kind", "<u8")])

SAMPLE_TIME_SHIFT = 9  # bits 9 to 15 of an event's flags: duration of the probe, `look_bits` in rows.h
SAMPLE_TIME_CODES = 128
DEVICE_SHIFT = 16  # the upper half of an event's flags: number of its logical device, from 1; 0 if unknown
NO_INDEX = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
NO_UID = 0xFFFF_FFFF_FFFF_FFFF  # an input that is not a tensor; 0 is the first tensor of a process


class EventKind(IntEnum):
    """The kind of code that computed a tensor."""

    EAGER = 1
    GRAPH = 2


class BufferKind(IntEnum):
    """The kind of a row of buffers.bin."""

    EAGER = 1  # an eager op, or a conversion, made it
    GRAPH = 2  # a probe recorded it
    FREED = 3  # Python released an eager tensor: a copy of its first row, with another time


class EventFlag(IntFlag):
    """The facts about the tensor of an event."""

    BAD = 1  # holds a NaN or an infinity
    LOOKED = 2  # its health was recorded (not in NO_TENSOR and SHAPE)
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
    EXACT = 128  # the quantiles are exact, not estimated from the histogram
    COMPARED = 256  # `before` and `change` are filled in
    UNITS = 512  # the numbers of dead units and of all units are filled in
    ATTENTION = 1024  # data of native/src/kernels/attention.h are kept with the row


class LongRowFlag(IntFlag):
    """A flag for hashes of rows with 4 tokens or more. Shorter rows are equal by chance."""

    WHOLE = 1
    HEADLESS = 2
    TAILLESS = 4


class CallKind(IntEnum):
    """The kind of a row of calls.bin."""

    OP = 1
    FUNCTION = 2  # written before the function runs, so that a crash inside it belongs to a call
    MORE_INPUTS = 3  # further `inputs` of the call in the row before
    JOIN = 4  # `tf_step` ran on behalf of `call`
    FAILED = 5  # the call raised; the catalogue has its message
    ENDED = 6  # the function call returned after `duration`
    REPLAYING = 7  # this call replays `inputs[0]`
    REPLAYED = 8  # `inputs[0]` replayed this call with the same outcome, and was recorded in more detail
    BATCH = 9  # progress of a Keras loop: `op` is its Phase, `inputs` the epoch + 1 and the batch + 1, 0 for none
