"""The ids, masks and labels that a model got together with an attention layer, by role."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.data.tokens.padding import certain_padding, guess_padding
from tensorsleuth.data.tokens.roles import (
    DECODER_IDS,
    DECODER_MASK,
    IDS,
    LABELS,
    MASK,
    NAMES_OF_ROLE,
    Argument,
    find_roles,
)
from tensorsleuth.data.tokens.shift import ShiftAgreement
from tensorsleuth.trace.series.watched import WatchedSeries

ID_ROLES = (IDS, DECODER_IDS)
KERAS_LABELS = re.compile(r"iterator/[12](?:/|$)")  # Keras's `fit` takes inputs, labels, weights from the iterator


@dataclass(frozen=True)
class InputIds:
    """The ids of one argument, and their mask."""

    name: str
    role: str
    ids: Array  # [samples, tokens], of the first samples of the batch
    batch: int  # number of samples in the batch
    mask: Array | None

    @property
    def padding(self) -> Array | None:
        """Return the positions of padding, or None if the padding id is unknown."""
        there = np.ones(self.ids.shape, bool)
        kept = self.mask.astype(bool) if self.mask is not None else None
        guess = guess_padding(self.ids, there, kept)
        return certain_padding(self.ids, there, guess.pad, False) if guess is not None else None

    @property
    def tokens(self) -> Array:
        """Return the positions without padding."""
        padding = self.padding
        return ~padding if padding is not None else np.ones(self.ids.shape, bool)


class AttentionInputs:
    """The inputs of one step."""

    def __init__(self, inputs: Sequence[WatchedSeries], step: int) -> None:
        values = {one.name: (one, _value(one, step)) for one in inputs}
        self._arrays = {name: value for name, (_, value) in values.items() if value is not None and value.ndim}
        self._roles = find_roles([Argument(name, value) for name, value in self._arrays.items()])
        sizes = {
            name: one.shape(_sample_at(one, step))[:1] for name, (one, _) in values.items() if name in self._arrays
        }
        self._sizes = {name: size[0] if size else 0 for name, size in sizes.items()}

    @property
    def input_ids(self) -> list[InputIds]:
        """All ids that the model got: first those whose role is certain, then those that only look like ids."""
        masks = {IDS: self._array_of_role(MASK), DECODER_IDS: self._array_of_role(DECODER_MASK)}
        found = [(name, self._roles.get(name, ""), ids) for name, ids in self._arrays.items() if self._may_be_ids(name)]
        found.sort(key=lambda one: ID_ROLES.index(one[1]) if one[1] in ID_ROLES else len(ID_ROLES))
        return [
            InputIds(name, role, ids, self._sizes[name], _same_shape(masks.get(role), ids)) for name, role, ids in found
        ]

    def _may_be_ids(self, name: str) -> bool:
        """Return whether an input may be ids: by its role, or as rows of integers without another role."""
        array, role = self._arrays[name], self._roles.get(name)
        if array.ndim != 2 or array.dtype.kind not in "iu":
            return False
        is_labels = KERAS_LABELS.search(name) or Argument(name, array).last_name in NAMES_OF_ROLE[LABELS]
        return role in ID_ROLES or (role in (None, LABELS) and not is_labels and bool((array > 1).any()))

    def ids_matching(self, batch: int, keys: int) -> list[InputIds]:
        """Return ids that may be the keys of an attention layer: the same number of samples and tokens."""
        return [one for one in self.input_ids if one.batch == batch and one.ids.shape[1] == keys]

    @property
    def is_next_token(self) -> bool:
        """Return whether the labels are the ids, one later, in a model with only one kind of ids."""
        found, labels = self.input_ids, self._array_of_role(LABELS)
        if len(found) != 1 or labels is None or labels.shape != found[0].ids.shape:
            return False
        shift_agreement = ShiftAgreement()
        shift_agreement.add(found[0].ids, labels, found[0].tokens, labels >= 0)
        return shift_agreement.offset == 1 and not shift_agreement.is_ambiguous

    def _array_of_role(self, role: str) -> Array | None:
        return next((self._arrays[name] for name, one in self._roles.items() if one == role), None)


def _same_shape(mask: Array | None, ids: Array) -> Array | None:
    return mask if mask is not None and mask.shape == ids.shape else None


def _sample_at(series: WatchedSeries, step: int) -> int:
    """Return the sample at a step, or the first one if there is none."""
    at = np.flatnonzero(series.steps == step)
    return int(at[0]) if len(at) else 0


def _value(series: WatchedSeries, step: int) -> Any:
    return series.value(_sample_at(series, step)) if step in series.steps else None
