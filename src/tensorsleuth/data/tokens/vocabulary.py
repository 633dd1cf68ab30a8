"""The meaning of ids: their number, their words, and the special ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tensorsleuth.core.errors import SleuthError

SPECIALS = ("pad", "bos", "cls", "eos", "sep", "mask", "unk")
# Tokenizers' usual texts for them, used if only a list of tokens is given.
SPECIAL_SPELLINGS = {
    "pad": ("[PAD]", "<pad>", "<|pad|>", ""),
    "bos": ("<s>", "<bos>", "[BOS]", "[START]", "<start>", "<sos>", "<|begin_of_text|>", "<|endoftext|>"),
    "cls": ("[CLS]",),
    "eos": ("</s>", "<eos>", "[EOS]", "[END]", "<end>", "<|end_of_text|>", "<|endoftext|>"),
    "sep": ("[SEP]",),
    "mask": ("[MASK]", "<mask>"),
    "unk": ("[UNK]", "<unk>", "[OOV]"),
}


@dataclass(frozen=True)
class Vocabulary:
    """The known facts about the ids. `size` counts them, from 0."""

    size: int | None = None
    specials: Mapping[str, int] = field(default_factory=dict)
    name: str = ""
    max_length: int | None = None  # the most tokens of a sample, according to the tokenizer
    _word: Callable[[int], str | None] | None = None

    def __getitem__(self, special: str) -> int | None:
        return self.specials.get(special)

    @property
    def start_id(self) -> int | None:
        """Return the token that every sample begins with."""
        return self["cls"] if self["cls"] is not None else self["bos"]

    @property
    def end_id(self) -> int | None:
        """Return the token that every sample ends with."""
        return self["eos"] if self["eos"] is not None and self["cls"] is None else _first(self["sep"], self["eos"])

    @property
    def has_words(self) -> bool:
        return self._word is not None

    def word(self, number: int) -> str:
        """Return the token as text, or the id if it has none."""
        if self._word is None or number < 0 or (self.size is not None and number >= self.size):
            return str(number) if self._word is None else f"<{number}>"
        try:
            found = self._word(number)
        except Exception:  # a user's tokenizer may raise anything for an unknown id
            found = None
        return found if found else f"<{number}>"

    def with_specials(self, **specials: int | None) -> Vocabulary:
        """Return the vocabulary with the user's special ids."""
        said = {name: number for name, number in specials.items() if number is not None}
        return replace(self, specials={**self.specials, **said})


def _first(*ids: int | None) -> int | None:
    return next((one for one in ids if one is not None), None)


def vocabulary_of_size(size: int) -> Vocabulary:
    if size < 1:
        raise SleuthError(f"vocabulary={size}: it must be the number of ids, 1 or more.")
    return Vocabulary(size)


def vocabulary_of_tokens(tokens: Sequence[str] | Mapping[Any, Any], name: str = "") -> Vocabulary:
    """Return a vocabulary from a list, where the index is the id, or a dict of ids by token or tokens by id."""
    words = _by_id(tokens)
    if not words:
        raise SleuthError(f"the vocabulary{f' {name}' if name else ''} has no tokens: a list of them, or ids by token.")
    numbers = {word: number for number, word in words.items()}
    specials = {
        special: numbers[word]
        for special in SPECIALS
        for word in reversed(SPECIAL_SPELLINGS[special])
        if word in numbers
    }
    if "<s>" in numbers and "<mask>" in numbers:  # as in RoBERTa
        specials["cls"], specials["sep"] = numbers["<s>"], numbers.get("</s>", numbers["<s>"])
    return Vocabulary(max(words) + 1, specials, name, None, words.get)


def _by_id(tokens: Sequence[str] | Mapping[Any, Any]) -> dict[int, str]:
    pairs = tokens.items() if isinstance(tokens, Mapping) else enumerate(tokens)
    try:
        return {
            int(key if isinstance(value, str) else value): str(value if isinstance(value, str) else key)
            for key, value in pairs
        }
    except (TypeError, ValueError) as error:
        raise SleuthError(f"a vocabulary is a list of tokens, or a dict of ids by token: {error}.") from error
