"""Shapes that broadcast only by chance: the result is wrong without an error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.batch import NamedGrid, TokenBatch, TokenStream, is_triangle
from tensorsleuth.data.tokens.check import FormCheck
from tensorsleuth.data.tokens.roles import POSITIONS

Shape = tuple[int, ...]


class TokenShapesCheck(FormCheck):
    def violations_in(self, token_batch: TokenBatch) -> Iterator[Violation | None]:
        for stream in token_batch.streams:
            yield from (self._of_ids(stream), self._of_mask(stream), self._of_labels(stream))
        for role, one in token_batch.companions.items():
            yield _of_companion(token_batch.streams[0], one, role) if token_batch.streams else None

    def _of_ids(self, token_stream: TokenStream) -> Violation | None:
        shape = token_stream.named_ids.grid.shape
        if len(shape) == 3 and shape[-1] == 1:
            return _wrong(token_stream.named_ids, shape[:2], shape, "Drop the last dimension: ids[..., 0].")
        return None

    def _of_mask(self, token_stream: TokenStream) -> Violation | None:
        if token_stream.mask is None or token_stream.named_ids.grid.ragged or token_stream.mask.grid.ragged:
            return None
        ids, mask = token_stream.named_ids.grid.shape, token_stream.mask.grid.shape
        if is_triangle(token_stream.mask.values) and mask[-1] == ids[-1]:
            return None
        if mask == ids or (len(mask) > 2 and _is_for_scores(mask, ids)) or (len(mask) == 2 and mask == (1, ids[-1])):
            return None
        return _wrong(token_stream.mask, ids, mask, _mask_advice(mask, ids))

    def _of_labels(self, token_stream: TokenStream) -> Violation | None:
        if (
            token_stream.labels is None
            or token_stream.labels.grid.text
            or token_stream.labels.grid.ragged
            or token_stream.named_ids.grid.ragged
        ):
            return None
        ids, labels = token_stream.named_ids.grid.shape, token_stream.labels.grid.shape
        if labels[:1] != ids[:1]:
            turned = len(labels) == 2 and labels == ids[::-1]
            change = "They are transposed: labels.T." if turned else "Give each row its label: was one of them cut?"
            return _wrong(token_stream.labels, (ids[0], *labels[1:]) if labels else ids[:1], labels, change)
        if labels == (*ids, 1):
            change = (
                "Drop the last dimension, labels[..., 0]: against [batch, time] it is stretched to [batch, time, time]."
            )
            return replace(_wrong(token_stream.labels, ids, labels, change), severity="warning")
        if self.setting.causal and len(labels) < len(ids):
            change = (
                "A model that predicts the next token has a label for each position; one a row is stretched over them."
            )
            return _wrong(token_stream.labels, ids, labels, change)
        if self.setting.causal and labels[: len(ids)] != ids:
            return _wrong(token_stream.labels, ids, labels, "Cut inputs and labels alike: ids[:, :-1] and ids[:, 1:].")
        return None


def _is_for_scores(mask: Shape, ids: Shape) -> bool:
    """Return whether it is for attention scores: [batch, (heads,) (from,) to], where any but the last may be 1."""
    return mask[-1] in (ids[-1], 1) and mask[0] in (ids[0], 1) and mask[-2] in (ids[-1], 1)


def _mask_advice(mask: Shape, ids: Shape) -> str:
    if len(mask) == 1:
        by_luck = " It passes only because rows and positions are equal in number." if ids[0] == ids[-1] else ""
        each = "position" if mask[0] == ids[-1] else "row"
        return f"One number for each {each} is stretched over the others.{by_luck} Compute it from the ids: ids != pad."
    if mask == ids[::-1]:
        return "It is transposed: mask.T."
    return "Compute the mask from the same ids, after padding: ids != pad."


def _of_companion(token_stream: TokenStream, one: NamedGrid, role: str) -> Violation | None:
    ids, shape = token_stream.named_ids.grid.shape, one.grid.shape
    if one.grid.ragged or token_stream.named_ids.grid.ragged or shape == ids:
        return None
    if role == POSITIONS and shape in ((ids[-1],), (1, ids[-1])):
        return None
    return _wrong(one, ids, shape, "Give each position of the ids one: pad both alike.")


def _wrong(one: NamedGrid, expected: Shape, found: Shape, change: str) -> Violation:
    return Violation("token-shape", one.name, f"shape {list(expected)}", str(list(found)), change=change)


CHECK = TokenShapesCheck
