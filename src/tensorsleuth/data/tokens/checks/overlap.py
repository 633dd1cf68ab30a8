"""Samples of the validation data that are in the training data, also where they are padded in another way."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tensorsleuth.core.array import Array
from tensorsleuth.core.violation import Violation
from tensorsleuth.data.block import row_hashes
from tensorsleuth.data.check import DATA, VALIDATION
from tensorsleuth.data.checks.overlap import overlapping
from tensorsleuth.data.hash_sample import HashSample, shared
from tensorsleuth.data.tally import KEPT
from tensorsleuth.data.tokens.batch import Batch, Stream
from tensorsleuth.data.tokens.check import Check
from tensorsleuth.data.tokens.padding import Marks
from tensorsleuth.data.tokens.setting import Setting

Hashes = npt.NDArray[np.uint64]

SHORTEST = 4  # tokens: shorter ones are the same by chance
LETTERS = 12  # of a text, likewise


class Overlap(Check):
    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._samples: dict[str, dict[str, HashSample]] = {DATA: {}, VALIDATION: {}}
        self._weights = np.zeros(0, np.uint64)

    def see(self, batch: Batch) -> None:
        if not self.setting.compared:
            return
        for stream in batch.streams[:1]:
            self._add(batch, stream.name, *self._of_ids(stream))
        for text in batch.texts:
            if text.values.ndim == 1 and len(text.values):
                self._add(batch, text.name, *_of_text(text.values))

    def _add(self, batch: Batch, name: str, hashes: Hashes, long: Marks) -> None:
        """Rows that are too short are the same as no other."""
        own = np.arange(batch.start, batch.start + len(hashes), dtype=np.uint64)
        alone = row_hashes([own, np.full(len(hashes), batch.part == DATA)])
        self._samples[batch.part].setdefault(name, HashSample()).add(np.where(long, hashes, alone), batch.start)

    def _of_ids(self, stream: Stream) -> tuple[Hashes, Marks]:
        """The sum over a row's tokens of each times a number for its place among them, padding left out."""
        real = stream.tokens
        places = np.maximum(np.cumsum(real, axis=1) - 1, 0)
        weights = self._weights_to(real.shape[1])
        ids = np.where(real, stream.ids.astype(np.int64) + 1, 0).astype(np.uint64)
        sums = (ids * weights[places]).sum(axis=1, dtype=np.uint64)
        return row_hashes([sums]), real.sum(axis=1) >= SHORTEST

    def _weights_to(self, width: int) -> Hashes:
        if len(self._weights) < width:  # the same numbers again, and more of them
            random = np.random.default_rng(8)
            self._weights = random.integers(1, 2**64, max(width, 2 * len(self._weights)), np.uint64)
        return self._weights

    def end(self) -> Iterator[Violation]:
        for name, asked in self._samples[VALIDATION].items():
            known = self._samples[DATA].get(name)
            found = shared(known, asked, KEPT) if known is not None else None
            if found is not None and found.broken:
                yield overlapping(name, found, asked.rows)


def _of_text(texts: Array) -> tuple[Hashes, Marks]:
    stripped = np.array([one.strip() if isinstance(one, (str, bytes)) else "" for one in texts.tolist()], object)
    return row_hashes([stripped]), np.array([len(one) >= LETTERS for one in stripped.tolist()], bool)


CHECK = Overlap
