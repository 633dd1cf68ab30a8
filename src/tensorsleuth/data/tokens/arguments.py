"""Judges the arguments of a training function, as a recording kept them: ids, masks and labels by role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.block import Block, Piece
from tensorsleuth.data.check import DATA
from tensorsleuth.data.tokens.judging import judge_batches
from tensorsleuth.data.tokens.reading import BatchMaker
from tensorsleuth.data.tokens.roles import IDS, LABELS, Argument, find_roles, vocabulary_size
from tensorsleuth.data.tokens.settings import TokenSettings


def judge_arguments(
    arguments: Sequence[Argument], token_settings: TokenSettings | None = None, known: Mapping[str, str] | None = None
) -> list[Violation]:
    """Return the violations in them, worst first; none if no argument holds ids.

    The vocabulary is as large as the variable from which ids are looked up, unless the setting has a size. Roles are
    inferred, unless they are `known`, by name.
    """
    roles = dict(known) if known is not None else find_roles(arguments)
    ids = next((one for one in arguments if roles.get(one.name) == IDS), None)
    if ids is None or ids.array.ndim < 2:
        return []
    token_settings = token_settings or TokenSettings()
    size = vocabulary_size(arguments, roles)
    if token_settings.vocabulary.size is None and size is not None:
        token_settings = replace(token_settings, vocabulary=replace(token_settings.vocabulary, size=size))
    pieces = {one.name: Piece(one.array if one.array.ndim else np.atleast_1d(one.array)) for one in arguments}
    together = any(one.last_name == LABELS for one in arguments) and ids.last_name == "input_ids"
    batch = BatchMaker(replace(token_settings, together=together), roles)
    return judge_batches(batch.setting, [batch.batch(DATA, Block(0, pieces))])
