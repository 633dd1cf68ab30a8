"""Finds validation samples that are in the training data, even with different padding."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from tensorsleuth.core.array import Array
from tensorsleuth.core.violation import Violation
from tensorsleuth.data.block import row_hashes
from tensorsleuth.data.check import DATA, VALIDATION
from tensorsleuth.data.checks.overlap import overlap_violation
from tensorsleuth.data.hash_sample import HashSample, shared_rows
from tensorsleuth.data.tally import MAX_EXAMPLES
from tensorsleuth.data.tokens.batch import TokenBatch, TokenStream
from tensorsleuth.data.tokens.check import TokenCheck
from tensorsleuth.data.tokens.padding import Marks
from tensorsleuth.data.tokens.settings import TokenSettings

Hashes = npt.NDArray[np.uint64]

MIN_TOKENS = 4  # shorter samples are equal by chance
MIN_TEXT_CHARS = 12  # of a text, likewise


class TokenOverlapCheck(TokenCheck):
    def __init__(self, token_settings: TokenSettings) -> None:
        super().__init__(token_settings)
        self._samples: dict[str, dict[str, HashSample]] = {DATA: {}, VALIDATION: {}}
        self._weights = np.zeros(0, np.uint64)

    def see(self, token_batch: TokenBatch) -> None:
        if not self.setting.compared:
            return
        for stream in token_batch.streams[:1]:
            self._add(token_batch, stream.name, *self._id_hashes(stream))
        for text in token_batch.texts:
            if text.values.ndim == 1 and len(text.values):
                self._add(token_batch, text.name, *_text_hashes(text.values))

    def _add(self, token_batch: TokenBatch, name: str, hashes: Hashes, long: Marks) -> None:
        """Add the hashes of rows that are long enough to identify a sample."""
        own = np.arange(token_batch.start, token_batch.start + len(hashes), dtype=np.uint64)
        alone = row_hashes([own, np.full(len(hashes), token_batch.part == DATA)])
        self._samples[token_batch.part].setdefault(name, HashSample()).add(
            np.where(long, hashes, alone), token_batch.start
        )

    def _id_hashes(self, token_stream: TokenStream) -> tuple[Hashes, Marks]:
        """Return for each row the sum of its tokens, each multiplied by a number for its position, without padding."""
        real = token_stream.tokens
        places = np.maximum(np.cumsum(real, axis=1) - 1, 0)
        weights = self._weights_to(real.shape[1])
        ids = np.where(real, token_stream.ids.astype(np.int64) + 1, 0).astype(np.uint64)
        sums = (ids * weights[places]).sum(axis=1, dtype=np.uint64)
        return row_hashes([sums]), real.sum(axis=1) >= MIN_TOKENS

    def _weights_to(self, width: int) -> Hashes:
        if len(self._weights) < width:  # the same numbers again, and more
            random = np.random.default_rng(8)
            self._weights = random.integers(1, 2**64, max(width, 2 * len(self._weights)), np.uint64)
        return self._weights

    def end(self) -> Iterator[Violation]:
        for name, asked in self._samples[VALIDATION].items():
            known = self._samples[DATA].get(name)
            found = shared_rows(known, asked, MAX_EXAMPLES) if known is not None else None
            if found is not None and found.broken:
                yield overlap_violation(name, found, asked.rows)


def _text_hashes(texts: Array) -> tuple[Hashes, Marks]:
    stripped = np.array([one.strip() if isinstance(one, (str, bytes)) else "" for one in texts.tolist()], object)
    return row_hashes([stripped]), np.array([len(one) >= MIN_TEXT_CHARS for one in stripped.tolist()], bool)


CHECK = TokenOverlapCheck
