"""The weights of one head, one sample and one step, with the tokens on both axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tensorsleuth.analyze.attention.batch import AttentionInputs
from tensorsleuth.core.array import Array
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.data.tokens.vocabulary import Vocabulary
from tensorsleuth.trace.series.attention import AttentionSample, AttentionSeries
from tensorsleuth.trace.series.watched import WatchedSeries


@dataclass(frozen=True)
class Picture:
    """A heat map with queries as rows and keys as columns."""

    layer: str
    head: int
    sample: int
    step: int
    weights: Array  # float32 [rows, columns]
    scale: tuple[int, int]  # queries and keys in one cell
    queries: tuple[str, ...] | None  # the tokens, one for each row
    keys: tuple[str, ...] | None


def sample_nearest(one: AttentionSeries, step: int | None) -> int:
    """Return the sample nearest to a step, by default the last."""
    return len(one) - 1 if step is None else int(np.abs(one.steps - step).argmin())


def make_picture(
    one: AttentionSeries,
    look: int,
    head: int,
    sample: int,
    inputs: Sequence[WatchedSeries] = (),
    vocabulary: Vocabulary | None = None,
) -> Picture:
    """Return the weights of a head for a sample; raise if they were not kept."""
    kept, step = one.kept(look), int(one.steps[look])
    if kept is None:
        raise SleuthError(f"The weights of {one.name} at step {step} were not kept, or were replaced by later ones.")
    samples, heads = kept.weights.shape[:2]
    _check_in_range("sample", sample, samples, one.name)
    _check_in_range("head", head, heads, one.name)
    rows, columns = kept.scale
    queries = _tokens(inputs, step, kept, kept.rows, sample, vocabulary, rows)
    keys = _tokens(inputs, step, kept, kept.columns, sample, vocabulary, columns)
    return Picture(one.name, head, sample, step, kept.weights[sample, head], kept.scale, queries, keys)


def _check_in_range(what: str, asked: int, there: int, name: str) -> None:
    if not 0 <= asked < there:
        kept = f"{there} {what}s, 0 to {there - 1}" if there > 1 else f"{what} 0 only"
        raise SleuthError(f"--{what} {asked}: the weights of {name} were kept for {kept}.")


def _tokens(
    inputs: Sequence[WatchedSeries],
    step: int,
    attention_sample: AttentionSample,
    length: int,
    sample: int,
    vocabulary: Vocabulary | None,
    block: int,
) -> tuple[str, ...] | None:
    """Return the first token of each block, or None without a vocabulary or matching ids."""
    found = AttentionInputs(inputs, step).ids_matching(attention_sample.batch, length) if vocabulary is not None else []
    if vocabulary is None or not found or sample >= len(found[0].ids):
        return None
    ids = found[-1 if length == attention_sample.rows != attention_sample.columns else 0].ids[sample]
    return tuple(vocabulary.word(int(number)) for number in ids[::block])
