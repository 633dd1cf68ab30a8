"""Text processing of a program: whether it reads text, and the characters that it removes or splits by."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from unicodedata import category

from tensorsleuth.core.catalog import Function, Node
from tensorsleuth.core.ops.data_ops import PATTERN_INPUTS, TEXT_OPS
from tensorsleuth.core.texts import CLEANING_ATTRIBUTE, PATTERN_ATTRIBUTE
from tensorsleuth.trace.process.process import ProcessTrace

_NON_LETTERS = re.compile(r"\\P|\\pC|\{C\}|\^\\p|\^\[:")  # all but letters, all that is no letter
_CONTROL, _FORMAT = re.compile(r"\\p\{Cc\}|\[:cntrl:\]"), re.compile(r"\\p\{Cf\}")
_CLASSES = re.compile(r"\\p\{\w+\}|\\p[A-Z]|\[:\w+:\]")  # of RE2, which Python does not know


class TextOps:
    """The text processing of one process."""

    def __init__(self, process: ProcessTrace) -> None:
        self._catalogue = process.catalogue

    @cached_property
    def reads_text(self) -> bool:
        """Return whether any op reads strings as text."""
        eager = (op.type for op in self._catalogue.eager.values())
        return any(kind in TEXT_OPS for kind in (*eager, *(node.type for _, node in self._nodes())))

    def removes(self, letter: str) -> bool:
        """Return whether there is a pattern that is replaced or split by, and that this character is."""
        return self._cleans or any(matches(one, letter) for one in self._patterns)

    @cached_property
    def _cleans(self) -> bool:
        return any(bool(node.attrs.get(CLEANING_ATTRIBUTE)) for _, node in self._nodes())

    @cached_property
    def _patterns(self) -> set[str]:
        written = {one for function, node in self._nodes() for one in _patterns_of(function, node)}
        return {one for one in self._catalogue.patterns | written if one}

    def _nodes(self) -> Iterator[tuple[Function, Node]]:
        for function in self._catalogue.functions.values():
            yield from ((function, node) for node in function.nodes)


def _patterns_of(function: Function, node: Node) -> Iterator[str]:
    if node.type == "StaticRegexReplace":
        yield str(node.attrs.get(PATTERN_ATTRIBUTE, ""))
    at = PATTERN_INPUTS.get(node.type)
    source = node.inputs[at][0] if at is not None and at < len(node.inputs) else -1
    if source >= 0:
        text = str(function.nodes[source].attrs.get("text", ""))
        yield re.escape(text) if node.type == "StringSplitV2" else text


def matches(pattern: str, letter: str) -> bool:
    """Return whether a TensorFlow pattern matches a character; True if the pattern cannot be parsed."""
    kind = category(letter)
    if (
        _NON_LETTERS.search(pattern)
        or (kind == "Cc" and _CONTROL.search(pattern))
        or (kind == "Cf" and _FORMAT.search(pattern))
    ):
        return True
    try:
        found = re.search(_CLASSES.sub("", pattern), letter, re.ASCII)
    except (re.error, RecursionError, OverflowError):
        return True
    return found is not None and found.group() == letter
