"""Which tokens stand at the queries and keys of an attention: the ids that went into the function in the same step."""

from __future__ import annotations

from typing import Any

from tensorsleuth.tokens.roles import DECODER_IDS, IDS, Argument, find_roles
from tensorsleuth.tokens.vocabulary import Vocabulary
from tensorsleuth.trace.inside import Inside
from tensorsleuth.trace.ring_reader import Array

LONGEST = 24  # letters of a token


def ids_at(inside: Inside, step: int) -> list[Array]:
    """What went in as ids at a step: the decoder's first."""
    values = [(one.name, value) for one in inside.inputs for value in [_value(one, step)] if value is not None]
    roles = find_roles([Argument(name, value) for name, value in values])
    return [value for role in (DECODER_IDS, IDS) for name, value in values if roles.get(name) == role]


def _value(series: Any, step: int) -> Array | None:
    looks = [look for look, at in enumerate(series.steps.tolist()) if at == step]
    value: Array | None = series.value(looks[0]) if looks else None
    return value if value is not None and value.ndim == 2 else None


def tokens_of(found: list[Array], sample: int, length: int, vocabulary: Vocabulary | None) -> dict[str, Any] | None:
    """An Axis of inside.ts: the ids of a sample, and their words where a vocabulary is given; None where none fit."""
    fitting = [ids for ids in found if ids.shape[1] == length and sample < len(ids) and ids.dtype.kind in "iu"]
    if not fitting:
        return None
    numbers = [int(number) for number in fitting[0][sample]]
    words = [vocabulary.word(number)[:LONGEST] for number in numbers] if vocabulary and vocabulary.worded else None
    return {"ids": [str(number) for number in numbers], "words": words}
