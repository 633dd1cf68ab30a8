"""The tokens at the queries and keys of an attention layer: the ids of the same step."""

from __future__ import annotations

from typing import Any

from tensorsleuth.analyze.attention.batch import AttentionInputs, InputIds
from tensorsleuth.data.tokens.vocabulary import Vocabulary
from tensorsleuth.trace.series.attention import AttentionSample

MAX_TOKEN_LENGTH = 24  # letters of a token


def axes(
    attention_inputs: AttentionInputs, attention_sample: AttentionSample, sample: int, vocabulary: Vocabulary | None
) -> dict[str, Any]:
    """Return both axes as Axis (web/src/api/inside.ts), None for an axis without ids of its length."""
    query, key = (
        attention_inputs.ids_matching(attention_sample.batch, attention_sample.rows),
        attention_inputs.ids_matching(attention_sample.batch, attention_sample.columns),
    )
    crossing = attention_sample.rows != attention_sample.columns  # a decoder attends to an encoder, whose ids come last
    return {
        "query": _axis(query[::-1] if crossing else query, sample, vocabulary),
        "key": _axis(key, sample, vocabulary),
    }


def _axis(found: list[InputIds], sample: int, vocabulary: Vocabulary | None) -> dict[str, Any] | None:
    if not found or sample >= len(found[0].ids):
        return None
    numbers = [int(number) for number in found[0].ids[sample]]
    words = (
        [vocabulary.word(number)[:MAX_TOKEN_LENGTH] for number in numbers]
        if vocabulary and vocabulary.has_words
        else None
    )
    return {"ids": [str(number) for number in numbers], "words": words}
