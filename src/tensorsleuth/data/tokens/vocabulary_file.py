"""A vocabulary in a file: a token on each line, or JSON as Hugging Face writes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tensorsleuth.data.readers.file_errors import bad_file, read_errors
from tensorsleuth.data.tokens.vocabulary import Vocabulary, vocabulary_of_size, vocabulary_of_tokens

FILE_FORMS = "A token on each line (vocab.txt, .vocab), a dict of ids by token (vocab.json), or a tokenizer.json."


def read_vocabulary(path: Path) -> Vocabulary:
    """Read a vocabulary from a file, or take a number as its size."""
    if str(path).isdigit() and not path.exists():
        return vocabulary_of_size(int(str(path)))
    if not path.exists():
        raise bad_file(path, "is not there", "--vocab takes a file of tokens, or the number of ids.")
    if path.is_dir():
        raise bad_file(path, "is a folder", f"Name a file in it. {FILE_FORMS}")
    with read_errors(path):
        text = path.read_text("utf-8")
        tokens = _of_json(path, text) if path.suffix.lower() == ".json" else _lines(text)
    if not tokens:
        raise bad_file(path, "has no tokens", FILE_FORMS)
    return vocabulary_of_tokens(tokens, path.name)


def _lines(text: str) -> list[str]:
    """Return the tokens of lines. SentencePiece writes a score after each token and a tab."""
    lines = text.removesuffix("\n").split("\n") if text else []
    return [
        line.removesuffix("\r").split("\t")[0] if "\t" in line.strip() else line.removesuffix("\r") for line in lines
    ]


def _of_json(path: Path, text: str) -> Any:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise bad_file(path, f"is not JSON ({error})", FILE_FORMS) from error
    model = found.get("model") if isinstance(found, dict) else None
    if isinstance(model, dict) and "vocab" in model:
        return _of_tokenizer(model["vocab"], found.get("added_tokens") or ())
    if not isinstance(found, (dict, list)):
        raise bad_file(path, "holds no vocabulary", FILE_FORMS)
    return found


def _of_tokenizer(vocabulary: Any, added: Any) -> dict[int, str]:
    """Return the vocabulary of a tokenizer.json: ids by token, or token and score pairs in the order of ids."""
    if isinstance(vocabulary, dict):
        words = {int(number): str(token) for token, number in vocabulary.items()}
    else:
        words = {number: str(pair[0]) for number, pair in enumerate(vocabulary)}
    return words | {int(one["id"]): str(one["content"]) for one in added}
