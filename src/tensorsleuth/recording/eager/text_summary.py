"""The summary of a sample of the texts that enter at one line."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tensorsleuth.core.texts import STRAY_CHARACTERS, excerpt
from tensorsleuth.recording.eager.text_sample import sample_texts

MAX_TEXTS, MAX_BYTES = 2048, 1 << 18  # the sample of one line, which takes some milliseconds
MAX_TEXT_LENGTH = 1 << 16
MAX_EXAMPLES = 3
MAX_BINARY_SHARE = 0.05  # if more rows than this are binary, the line's strings are not texts
_PLAIN_ASCII = bytes([9, 10, 13, *range(0x20, 0x7F)])
_StrayText = tuple[int, str, list[str]]  # the row, its text, and the suspicious parts


class LineTexts:
    """The sampled texts of one line."""

    def __init__(self, number: int, site: int, drawn: bool = False) -> None:
        self.number = number
        self.site = site
        self.from_dataset = drawn
        self.taken_by = ""  # the op or function that used them first
        self.texts = self.broken = self.seen_elsewhere = self.bytes = 0
        self.kinds: Counter[str] = Counter()
        self.examples: list[tuple[int, str]] = []
        self.reported = 0  # the number of broken texts in the latest report
        self._last: int | None = None  # the latest sampled tensor, since an op may be recorded twice

    @property
    def is_full(self) -> bool:
        return self.texts >= MAX_TEXTS or self.bytes >= MAX_BYTES

    def add(self, value: Any, seen: dict[int, int]) -> None:
        """Sample a Python value, an array or a tensor. `seen` maps the hash of a bad text to its first site."""
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
    """Return the text, or "" if it cannot have any problem. This check is several times faster than the search."""
    if raw.isascii() and not raw.translate(None, _PLAIN_ASCII):
        return ""
    text = raw.decode("utf-8", "replace")
    return text[:-3] if len(raw) == MAX_TEXT_LENGTH else text  # the cut may have split a letter


def _is_binary(raw: bytes, text: str) -> bool:
    """Return whether it is binary data: an image, a key, or a serialised message, which may contain text."""
    body = text.rstrip("\0")  # the padding of a fixed-size field, which may be a text
    stray = len(STRAY_CHARACTERS.findall(body))
    return stray * 5 > max(len(body), 5) or stray * 2 >= len(body) or _is_message(raw)


def _is_message(raw: bytes) -> bool:
    """Return whether it is a protocol buffer, such as a tf.train.Example: fields in a row up to the very end."""
    at, fields = 0, 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        if not tag >> 3 or tag & 7 not in _FIELD_SIZES:
            return False
        size, at = _varint(raw, at) if tag & 7 in (0, 2) else (_FIELD_SIZES[tag & 7], at)
        at += size if tag & 7 else 0
        fields += 1
    return fields > 0 and (at == len(raw) or len(raw) == MAX_TEXT_LENGTH)


_FIELD_SIZES = {0: 0, 1: 8, 2: 0, 5: 4}  # by the type of a field; type 2 stores its size before the data


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(raw):
        value |= (raw[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if raw[at - 1] < 0x80:
            break
    return value, at
