"""The vocabulary of a tokenizer: of Hugging Face, keras-hub and Keras, lists, dicts, files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.data.tokens.vocabulary import SPECIALS, Vocabulary, vocabulary_of_size, vocabulary_of_tokens
from tensorsleuth.data.tokens.vocabulary_file import read_vocabulary

# keras-hub's names of them.
KERAS_HUB_NAMES = {"bos": "start", "eos": "end"}
NO_MAX_LENGTH = 1_000_000  # Hugging Face writes a number of 30 digits if there is no limit


def vocabulary_of(tokenizer: Any, vocabulary: Any = None) -> Vocabulary:
    """Return the vocabulary of both; a stated size overrides that of the tokenizer."""
    known = _vocabulary(tokenizer) if tokenizer is not None else Vocabulary()
    if vocabulary is None:
        return known
    said = _vocabulary(vocabulary)
    if tokenizer is None:
        return said
    word = known._word or said._word
    return Vocabulary(
        said.size or known.size,
        {**said.specials, **known.specials},
        known.name or said.name,
        known.max_length or said.max_length,
        word,
    )


def _vocabulary(source: Any) -> Vocabulary:
    if isinstance(source, Vocabulary):
        return source
    if isinstance(source, (str, PathLike)):
        return read_vocabulary(Path(source))
    if isinstance(source, Integral):
        return vocabulary_of_size(int(source))
    if isinstance(source, (Mapping, list, tuple)):
        return vocabulary_of_tokens(source)
    if callable(getattr(source, "get_vocabulary", None)) and not hasattr(source, "pad_token_id"):
        return vocabulary_of_tokens([str(word) for word in source.get_vocabulary()], type(source).__name__)
    size = _size(source)
    if size is None:
        raise SleuthError(
            f"a {type(source).__name__} is not a known tokenizer: it has no vocab_size, vocabulary_size() or "
            "get_vocabulary(). Pass a list of tokens, a file of them, or vocabulary=SIZE."
        )
    return Vocabulary(size, _specials(source), type(source).__name__, _max_length(source), _word(source))


def _size(tokenizer: Any) -> int | None:
    """Return the number of ids, added ones included."""
    sizes = [_called(tokenizer, name) for name in ("vocabulary_size", "vocab_size", "get_vocab_size", "__len__")]
    whole = [int(size) for size in sizes if isinstance(size, Integral) and int(size) > 0]
    return max(whole, default=None)


def _called(owner: Any, name: str) -> Any:
    """Return an attribute, or the result of the method of that name; None if there is none or it raises."""
    try:
        found = getattr(owner, name, None)
        return found() if callable(found) else found
    except Exception:  # a user's class may raise anything
        return None


def _specials(tokenizer: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    for special in SPECIALS:
        for name in (special, KERAS_HUB_NAMES.get(special, special)):
            number = getattr(tokenizer, f"{name}_token_id", None)
            if isinstance(number, Integral):
                found.setdefault(special, int(number))
    return found


def _max_length(tokenizer: Any) -> int | None:
    for name in ("model_max_length", "sequence_length"):
        length = getattr(tokenizer, name, None)
        if isinstance(length, Integral) and 0 < int(length) < NO_MAX_LENGTH:
            return int(length)
    return None


def _word(tokenizer: Any) -> Callable[[int], str | None] | None:
    """Return the function from an id to its token."""
    for name in ("convert_ids_to_tokens", "id_to_token"):
        method = getattr(tokenizer, name, None)
        if callable(method):
            return lambda number: _text(method(number))
    decode = getattr(tokenizer, "decode", None) or getattr(tokenizer, "detokenize", None)
    return (lambda number: _text(decode([number]))) if callable(decode) else None


def _text(token: Any) -> str | None:
    if isinstance(token, bytes):
        return token.decode("utf-8", "backslashreplace")
    return None if token is None else str(token)
