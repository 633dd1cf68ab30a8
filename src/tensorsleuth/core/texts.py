"""Texts in TensorFlow: stray characters, and summaries of the texts that were read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from unicodedata import name as unicode_name

# C0 but tab, line feed and carriage return; DEL and C1; marks of byte order, replacement characters.
STRAY_CHARACTERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufeff\ufffd]")
REPLACEMENT_CHARACTER = "\ufffd"
CHARACTER_NAMES = {REPLACEMENT_CHARACTER: "replacement character", "\ufeff": "byte order mark", "\x00": "NUL"}
EXCERPT_MARGIN = 12  # characters on each side
MAX_LISTED_CHARACTERS = 3  # number of kinds

PATTERN_ATTRIBUTE = "pattern"  # the attribute of a static pattern
CLEANING_ATTRIBUTE = "replace_control_characters"  # the attribute of UnicodeTranscode


@dataclass(frozen=True, slots=True)
class TextSummary:
    """The sampled texts that one line reads."""

    site: int
    by: str  # the op or function that takes them
    texts: int
    broken: int  # the number with stray characters
    known: int  # those of the broken ones that another line had read before
    drawn: bool  # whether they come from a dataset
    kinds: Mapping[str, int]
    examples: tuple[tuple[int, str], ...]  # the row, and the text around it

    @staticmethod
    def from_json(fields: dict[str, Any]) -> TextSummary:
        texts, broken, known = (int(fields[name]) for name in ("texts", "broken", "known"))
        kinds = {str(letter)[:1]: int(count) for letter, count in fields["kinds"].items() if letter}
        examples = tuple((int(row), str(text)) for row, text in fields["examples"])
        where = int(fields["site"]), str(fields["by"])
        return TextSummary(*where, texts, broken, known, bool(fields["drawn"]), kinds, examples)


def excerpt(text: str) -> str:
    """Return the first match with the text around it."""
    at = STRAY_CHARACTERS.search(text)
    assert at is not None
    return repr(text[max(0, at.start() - EXCERPT_MARGIN) : at.end() + EXCERPT_MARGIN])


def list_characters(kinds: Mapping[str, int]) -> str:
    """Return a text such as `12 × U+0000 (NUL), 3 × U+FEFF (byte order mark)`, the most frequent first."""
    ranked = sorted(kinds.items(), key=lambda one: -one[1])[:MAX_LISTED_CHARACTERS]
    return ", ".join(f"{count:,} × {character_name(letter)}" for letter, count in ranked)


def character_name(letter: str) -> str:
    return f"U+{ord(letter):04X} ({CHARACTER_NAMES.get(letter) or unicode_name(letter, 'control character').lower()})"
