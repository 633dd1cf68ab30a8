"""Finds ids of the vocabulary that never occur, whose embedding rows never learn, if there is enough data to say so."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.check import DATA
from tensorsleuth.data.tokens.batch import TokenBatch
from tensorsleuth.data.tokens.check import TokenCheck
from tensorsleuth.data.tokens.settings import TokenSettings

MIN_TOKENS_PER_ID = 20  # for each id of the vocabulary
MAX_UNUSED_SHARE = 0.5  # the share of ids that may be unused: most words are rare
MAX_VOCABULARY = 1 << 24  # larger vocabularies are not counted


class UnusedIdsCheck(TokenCheck):
    def __init__(self, token_settings: TokenSettings) -> None:
        super().__init__(token_settings)
        size = token_settings.vocabulary.size or 0
        self._used = np.zeros(size if size <= MAX_VOCABULARY else 0, bool)
        self._seen, self._name = 0, ""

    def see(self, token_batch: TokenBatch) -> None:
        if token_batch.part != DATA or not self._used.size:
            return
        for stream in token_batch.streams:
            ids = stream.ids[stream.tokens]
            self._used[ids[(ids >= 0) & (ids < self._used.size)]] = True
            self._seen += len(ids)
            self._name = self._name or stream.name

    def end(self) -> Iterator[Violation]:
        size = self._used.size
        unused = np.flatnonzero(~self._used)
        if size and self._seen >= MIN_TOKENS_PER_ID * size and len(unused) > MAX_UNUSED_SHARE * size:
            words = tuple(self.setting.vocabulary.word(int(one)) for one in unused[:3])
            last = int(np.flatnonzero(self._used).max(initial=0))
            found = f"{len(unused) / size:.0%} never occur in {self._seen:,} tokens; the largest id is {last:,}"
            yield Violation(
                "unused", self._name, "ids from the whole vocabulary", f"{found}; absent: {', '.join(words)}, …",
                len(unused), size, change="Is this the tokenizer of the data? If so, make the vocabulary smaller.",
                severity="note",
            )  # fmt: skip


CHECK = UnusedIdsCheck
