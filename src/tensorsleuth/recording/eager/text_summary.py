"""A look at some of the texts that a program hands to TensorFlow, spread over all of them."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tensorsleuth.core.texts import STRAY_CHARACTERS, excerpt
from tensorsleuth.recording.eager.text_sample import sample_texts

MAX_TEXTS, MAX_BYTES = 2048, 1 << 18  # that are looked at, of those that come in at one line: some milliseconds
MAX_TEXT_LENGTH = 1 << 16  # of one text
MAX_EXAMPLES = 3
MAX_BINARY_SHARE = 0.05  # of the rows that are no text, more than which none of them are
_PLAIN_ASCII = bytes([9, 10, 13, *range(0x20, 0x7F)])
_StrayText = tuple[int, str, list[str]]  # the row, its text, and what should not be there


class LineTexts:
    """The texts recorded at one line so far."""

    def __init__(self, number: int, site: int, drawn: bool = False) -> None:
        self.number = number
        self.site = site
        self.from_dataset = drawn
        self.taken_by = ""  # nobody has taken them yet
        self.texts = self.broken = self.seen_elsewhere = self.bytes = 0
        self.kinds: Counter[str] = Counter()
        self.examples: list[tuple[int, str]] = []
        self.reported = 0  # of the broken, when it was last told
        self._last: int | None = None  # the tensor that was looked at: an op may be noted twice

    @property
    def is_full(self) -> bool:
        return self.texts >= MAX_TEXTS or self.bytes >= MAX_BYTES

    def add(self, value: Any, seen: dict[int, int]) -> None:
        """Look at a value: Python's, an array, a tensor. `seen`: where each bad text came in first, by its hash."""
        last, self._last = self._last, getattr(value, "_id", None)
        if last is not None and last == self._last:
            return
        texts, binary, stray = 0, 0, list[_StrayText]()
        for row, raw in sample_texts(value, MAX_TEXTS - self.texts):
            if self.bytes >= MAX_BYTES:
                break
            texts, self.bytes = texts + 1, self.bytes + min(len(raw), MAX_TEXT_LENGTH)
            text = _text_unless_plain(raw[:MAX_TEXT_LENGTH])
            found = STRAY_CHARACTERS.findall(text)
            if found:
                stray.append((row, text, found))
                binary += _is_binary(raw, text)
        if binary <= MAX_BINARY_SHARE * texts:
            self.texts += texts
            self._count(sorted(stray), seen)

    def _count(self, stray: list[_StrayText], seen: dict[int, int]) -> None:
        for row, text, found in stray:
            self.broken += 1
            self.kinds.update(found)
            self.seen_elsewhere += seen.setdefault(hash(text), self.site) != self.site
            if len(self.examples) < MAX_EXAMPLES:
                self.examples.append((row, excerpt(text)))

    def describe(self) -> dict[str, Any]:
        where = {"id": self.number, "site": self.site, "by": self.taken_by, "drawn": self.from_dataset}
        counts = {"texts": self.texts, "broken": self.broken, "known": self.seen_elsewhere}
        return {**where, **counts, "kinds": dict(self.kinds), "examples": self.examples}


def _text_unless_plain(raw: bytes) -> str:
    """The text, or nothing where there is nothing to find: to see that is several times as fast as to search."""
    if raw.isascii() and not raw.translate(None, _PLAIN_ASCII):
        return ""
    text = raw.decode("utf-8", "replace")
    return text[:-3] if len(raw) == MAX_TEXT_LENGTH else text  # a letter may have been cut in two


def _is_binary(raw: bytes, text: str) -> bool:
    """Return whether it is no text at all: an image, a key, a serialised message, which may hold a text."""
    body = text.rstrip("\0")  # a field of a fixed size is filled up with these: its text is a text
    stray = len(STRAY_CHARACTERS.findall(body))
    return stray * 5 > max(len(body), 5) or stray * 2 >= len(body) or _is_message(raw)


def _is_message(raw: bytes) -> bool:
    """Is it a protocol buffer, as a tf.train.Example is: fields one after the other, up to the very end."""
    at, fields = 0, 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        if not tag >> 3 or tag & 7 not in _FIELD_SIZES:
            return False
        size, at = _varint(raw, at) if tag & 7 in (0, 2) else (_FIELD_SIZES[tag & 7], at)
        at += size if tag & 7 else 0
        fields += 1
    return fields > 0 and (at == len(raw) or len(raw) == MAX_TEXT_LENGTH)


_FIELD_SIZES = {0: 0, 1: 8, 2: 0, 5: 4}  # by the kind of a field; that of 2 is written before it


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(raw):
        value |= (raw[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if raw[at - 1] < 0x80:
            break
    return value, at
