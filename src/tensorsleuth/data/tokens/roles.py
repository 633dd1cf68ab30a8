"""The role of each argument of a model: from its name, its consumers and its content.

It serves arrays of users, columns of files and arguments of recorded functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorsleuth.core.ops.data_ops import ID_CONSUMERS
from tensorsleuth.core.ops.masks import CAST_MASK_CONSUMERS, MASK_CONSUMERS
from tensorsleuth.core.ops.reductions import SPARSE_CROSS_ENTROPY

IDS, MASK, LABELS, WEIGHTS = "ids", "mask", "labels", "weights"
DECODER_IDS, DECODER_MASK = "decoder_ids", "decoder_mask"
SEGMENTS, POSITIONS, TEXT = "segments", "positions", "text"

NAMES_OF_ROLE = {
    IDS: (
        "input_ids", "token_ids", "encoder_input_ids", "encoder_token_ids", "input_word_ids", "input_tokens", "tokens",
        "ids",
    ),
    MASK: ("attention_mask", "padding_mask", "encoder_attention_mask", "encoder_padding_mask", "input_mask", "mask"),
    LABELS: ("labels", "label", "y", "target", "targets", "lm_labels", "label_ids", "target_ids", "class"),
    WEIGHTS: ("sample_weight", "sample_weights", "weights", "loss_mask"),
    DECODER_IDS: ("decoder_input_ids", "decoder_token_ids"),
    DECODER_MASK: ("decoder_attention_mask", "decoder_padding_mask"),
    SEGMENTS: ("token_type_ids", "segment_ids", "input_type_ids"),
    POSITIONS: ("position_ids", "positions"),
}  # fmt: skip
# Names in tokenizers and models of parts with no role here, although they may look so.
OTHER_NAMES = {
    "special_tokens_mask", "global_attention_mask", "head_mask", "decoder_head_mask", "mask_positions", "mask_ids",
    "mask_weights", "length", "lengths", "offset_mapping", "overflow_to_sample_mapping", "word_ids", "idx", "id",
    "index",
}  # fmt: skip
_BY_NAME = {name: role for role, names in NAMES_OF_ROLE.items() for name in names}
# Ops that reveal the role of their input. The first that fits counts.
CONSUMERS_OF_ROLE = {
    LABELS: frozenset([SPARSE_CROSS_ENTROPY]),
    IDS: ID_CONSUMERS,
    MASK: MASK_CONSUMERS,
}


@dataclass(frozen=True)
class Argument:
    """An argument of a recorded function, a file or the user."""

    name: str
    array: npt.NDArray[Any]
    consumers: tuple[str, ...] = ()  # the types of the ops that take it, after casts, reshapes and calls
    vocabulary: int | None = None  # number of rows of the variable from which it is looked up

    @property
    def last_name(self) -> str:
        """The last part of a path of names, without the number that TensorFlow appends."""
        return self.name.rpartition("/")[2].partition(":")[0].lower()


def find_roles(arguments: Sequence[Argument]) -> dict[str, str]:
    """Return the role of each argument that has one, by name. Each role occurs at most once."""
    found: dict[str, str] = {}
    for judge in (
        _role_by_name,
        _role_by_consumers,
        _role_by_values,
        _role_by_values,
    ):  # parts that accompany the ids, once these are known
        for one in arguments:
            if one.name not in found:
                role = judge(one, found, arguments)
                if role is not None and role not in found.values():
                    found[one.name] = role
    return found


def vocabulary_size(arguments: Iterable[Argument], found: dict[str, str]) -> int | None:
    """Return the number of ids, from the variable that they are looked up in."""
    sizes = [one.vocabulary for one in arguments if one.vocabulary and found.get(one.name) in (IDS, DECODER_IDS)]
    return max(sizes, default=None)


def _role_by_name(one: Argument, found: dict[str, str], all_: Sequence[Argument]) -> str | None:
    return _BY_NAME.get(one.last_name)


def _role_by_consumers(one: Argument, found: dict[str, str], all_: Sequence[Argument]) -> str | None:
    if one.array.dtype.kind not in "iub":
        return None
    for role, ops in CONSUMERS_OF_ROLE.items():
        if any(op in ops for op in one.consumers) and not (
            role == IDS and one.vocabulary is not None and one.vocabulary <= 4
        ):
            return role
    return MASK if _binary(one.array) and any(op in CAST_MASK_CONSUMERS for op in one.consumers) else None


def _role_by_values(one: Argument, found: dict[str, str], all_: Sequence[Argument]) -> str | None:
    """Infer a role from the values: integers in rows are ids, 0 and 1 in that shape a mask, a number a row a label."""
    array, ids = one.array, next((other.array for other in all_ if found.get(other.name) == IDS), None)
    if array.dtype.kind in "OUST":
        return TEXT
    if one.last_name in OTHER_NAMES:
        return None
    if ids is not None and array.shape == ids.shape and _binary(array):
        return MASK
    if ids is None and array.dtype.kind in "iu" and array.ndim == 2:
        return IDS if len(all_) == 1 or (array.shape[1] > 1 and not _binary(array)) else None
    if ids is not None and array.dtype.kind in "iu" and array.ndim in (1, 2) and array.shape[:1] == ids.shape[:1]:
        return LABELS
    return None


def _binary(array: npt.NDArray[Any]) -> bool:
    return array.dtype.kind == "b" or (
        array.dtype.kind in "iuf" and array.size > 0 and bool(np.isin(array, (0, 1)).all())
    )
