"""The order of a list of tensors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.trace.query.ops import Op
from tensorsleuth.ui.web.run import parameters
from tensorsleuth.ui.web.run.columns import column_values
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.question import Parameters
from tensorsleuth.ui.web.run.tensor_table import TensorTable

SORTS = ("order", "step", "name", "op", "elements", "nan", "inf", "min", "max", "mean")


def sort_places(opened: OpenRun, places: Array, asked: Parameters) -> Array:
    """Return tensors in the requested order, unknown values last; `places` is oldest first."""
    sort = parameters.one_of(asked, "sort", SORTS, "order")
    descending = bool(parameters.boolean(asked, "descending"))
    if sort == "order":
        return places[::-1] if descending else places
    keys = _keys(opened.table, sort, places)
    if keys.dtype.kind == "f":
        keys = np.where(np.isnan(keys), np.inf, -keys if descending else keys)
    else:
        keys = _narrow(keys, descending)
    return places[np.argsort(keys, kind="stable")]


def _narrow(keys: Array, descending: bool) -> Array:
    """Return integers to sort by, negated for a descending order; 16 bits if they fit, as NumPy sorts those faster."""
    lowest, highest = (int(keys.min()), int(keys.max())) if len(keys) else (0, 0)
    if highest - lowest >= 1 << 16:
        return -keys if descending else keys
    return (highest - keys if descending else keys - lowest).astype(np.uint16)


def _keys(tensor_table: TensorTable, sort: str, places: Array) -> Array:
    if sort == "step":
        return tensor_table.step[places]
    if sort in ("name", "op"):
        return _ranks(tensor_table, lambda op: op.name if sort == "name" else op.type)[tensor_table.op[places]]
    if sort == "inf":
        return column_values(tensor_table, "neg_inf", places) + column_values(tensor_table, "pos_inf", places)
    return column_values(tensor_table, sort, places)


def _ranks(tensor_table: TensorTable, word: Callable[[Op], str]) -> Array:
    """Return for each op the rank of one of its texts in alphabetical order: texts themselves are slow to sort."""
    words = [word(op) for op in tensor_table.ops]
    ranks = {text: rank for rank, text in enumerate(sorted(set(words)))}
    return np.array([*(ranks[text] for text in words), len(ranks)], np.int32)  # the last entry answers for op number -1
