"""Pairs of tensors that differ, from the rows of both runs."""

from __future__ import annotations

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.layout.rows import EventFlag
from tensorsleuth.ui.web.run.tensor_table import TensorTable

BLOCK = 1 << 17  # pairs at a time
_FIELDS = {
    EventFlag.COUNTED: ("nan", "neg_inf", "pos_inf"),
    EventFlag.RANGED: ("neg", "zero", "pos", "min", "max"),
    EventFlag.MOMENTS: ("mean", "std"),
}


def differences(here: TensorTable, there: TensorTable, first: Array, second: Array) -> Array:
    """Return the numbers of the pairs that differ in value bits, shape, dtype or health."""
    found = [np.empty(0, np.int64)]
    for begin in range(0, len(first), BLOCK):
        end = begin + BLOCK
        found.append(begin + np.flatnonzero(_differ(here, there, first[begin:end], second[begin:end])))
    return np.concatenate(found)


def _differ(here: TensorTable, there: TensorTable, first: Array, second: Array) -> Array:
    """Return for each pair whether any field that both know differs."""
    both = here.flags[first] & there.flags[second]
    looked = both & EventFlag.LOOKED != 0
    differ = looked & ((here.flags[first] ^ there.flags[second]) & EventFlag.BAD != 0)
    differ |= here.column("dtype", first) != there.column("dtype", second)
    differ |= _shapes_differ(here, there, first, second)
    for flag, names in _FIELDS.items():
        known = both & flag != 0
        for name in names if known.any() else ():
            one, other = here.column(name, first), there.column(name, second)
            same = (one == other) | ((one != one) & (other != other))
            differ |= known & ~same
    return np.asarray(differ)


def _shapes_differ(here: TensorTable, there: TensorTable, first: Array, second: Array) -> Array:
    """Return whether shapes differ. Each run has its own numbers for shapes."""
    pairs = here.column("shape", first).astype(np.uint64) << np.uint64(32) | there.column("shape", second)
    processes = here.process_of(first)  # both tensors of a pair belong to the same process number
    differ = np.zeros(len(first), bool)
    for process in np.unique(processes).tolist():
        inside = processes == process
        found, which = np.unique(pairs[inside], return_inverse=True)
        alike = [_alike(here, there, process, pair >> 32, pair & 0xFFFF_FFFF) for pair in found.tolist()]
        differ[inside] = ~np.array(alike, bool)[which]
    return differ


def _alike(here: TensorTable, there: TensorTable, process: int, shape: int, other: int) -> bool:
    """Return whether the shapes are equal; an unrecorded shape equals any."""
    shapes, others = here.process_indexes[process].process.shapes, there.process_indexes[process].process.shapes
    if not 0 < shape < len(shapes) or not 0 < other < len(others):
        return True
    return shapes[shape] == others[other]
