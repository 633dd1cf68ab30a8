"""Shapes that broadcast only by chance: the result is wrong without an error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.batch import Batch, Named, Stream, is_triangle
from tensorsleuth.data.tokens.check import FormCheck
from tensorsleuth.data.tokens.roles import POSITIONS

Shape = tuple[int, ...]


class Shapes(FormCheck):
    def told(self, batch: Batch) -> Iterator[Violation | None]:
        for stream in batch.streams:
            yield from (self._of_ids(stream), self._of_mask(stream), self._of_labels(stream))
        for role, one in batch.beside.items():
            yield _of_companion(batch.streams[0], one, role) if batch.streams else None

    def _of_ids(self, stream: Stream) -> Violation | None:
        shape = stream.given.grid.shape
        if len(shape) == 3 and shape[-1] == 1:
            return _wrong(stream.given, shape[:2], shape, "Drop the last dimension: ids[..., 0].")
        return None

    def _of_mask(self, stream: Stream) -> Violation | None:
        if stream.mask is None or stream.given.grid.ragged or stream.mask.grid.ragged:
            return None
        ids, mask = stream.given.grid.shape, stream.mask.grid.shape
        if is_triangle(stream.mask.values) and mask[-1] == ids[-1]:
            return None
        if mask == ids or (len(mask) > 2 and _of_scores(mask, ids)) or (len(mask) == 2 and mask == (1, ids[-1])):
            return None
        return _wrong(stream.mask, ids, mask, _mask_advice(mask, ids))

    def _of_labels(self, stream: Stream) -> Violation | None:
        if stream.labels is None or stream.labels.grid.text or stream.labels.grid.ragged or stream.given.grid.ragged:
            return None
        ids, labels = stream.given.grid.shape, stream.labels.grid.shape
        if labels[:1] != ids[:1]:
            turned = len(labels) == 2 and labels == ids[::-1]
            change = "They are transposed: labels.T." if turned else "Give each row its label: was one of them cut?"
            return _wrong(stream.labels, (ids[0], *labels[1:]) if labels else ids[:1], labels, change)
        if labels == (*ids, 1):
            change = (
                "Drop the last dimension, labels[..., 0]: against [batch, time] it is stretched to [batch, time, time]."
            )
            return replace(_wrong(stream.labels, ids, labels, change), severity="warning")
        if self.setting.causal and len(labels) < len(ids):
            change = (
                "A model that predicts the next token has a label for each position; one a row is stretched over them."
            )
            return _wrong(stream.labels, ids, labels, change)
        if self.setting.causal and labels[: len(ids)] != ids:
            return _wrong(stream.labels, ids, labels, "Cut inputs and labels alike: ids[:, :-1] and ids[:, 1:].")
        return None


def _of_scores(mask: Shape, ids: Shape) -> bool:
    """Return whether it is for attention scores: [batch, (heads,) (from,) to], where any but the last may be 1."""
    return mask[-1] in (ids[-1], 1) and mask[0] in (ids[0], 1) and mask[-2] in (ids[-1], 1)


def _mask_advice(mask: Shape, ids: Shape) -> str:
    if len(mask) == 1:
        by_luck = " Rows and positions are as many here, so it passes by chance." if ids[0] == ids[-1] else ""
        each = "position" if mask[0] == ids[-1] else "row"
        return f"One number for each {each} is stretched over the others.{by_luck} Make it of the ids: ids != pad."
    if mask == ids[::-1]:
        return "It is transposed: mask.T."
    return "Make the mask of the same ids, after padding: ids != pad."


def _of_companion(stream: Stream, one: Named, role: str) -> Violation | None:
    ids, shape = stream.given.grid.shape, one.grid.shape
    if one.grid.ragged or stream.given.grid.ragged or shape == ids:
        return None
    if role == POSITIONS and shape in ((ids[-1],), (1, ids[-1])):
        return None
    return _wrong(one, ids, shape, "Give each position of the ids one: pad both alike.")


def _wrong(one: Named, expected: Shape, found: Shape, change: str) -> Violation:
    return Violation("token-shape", one.name, f"shape {list(expected)}", str(list(found)), change=change)


CHECK = Shapes
