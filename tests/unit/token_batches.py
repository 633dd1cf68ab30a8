"""Batches of tokens as healthy programs make them, for tests to spoil."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorsleuth.core.violation import Violation
from tensorsleuth.data.tokens.report import TokenReport

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "on", "a", "mat", "dog", "ran", "off"]
PAD, CLS, SEP, MASK, FIRST = 0, 2, 3, 4, 5


class HuggingFaces:
    """As a tokenizer of Hugging Face's is asked."""

    vocab_size = len(WORDS)
    pad_token_id, unk_token_id, cls_token_id, sep_token_id, mask_token_id = PAD, 1, CLS, SEP, MASK
    bos_token_id: int | None = None
    eos_token_id: int | None = None
    model_max_length = int(1e30)

    def __len__(self) -> int:
        return len(WORDS)

    def convert_ids_to_tokens(self, number: int) -> str:
        return WORDS[number]


class KerasHubs:
    """As a tokenizer of keras-hub's is asked."""

    pad_token_id, start_token_id, end_token_id = 0, 1, 2

    def vocabulary_size(self) -> int:
        return len(WORDS)

    def id_to_token(self, number: int) -> str:
        return ["<pad>", "<s>", "</s>", *WORDS[3:]][number]


class Gpt2s:
    """Where one id is the beginning, the end and the padding."""

    vocab_size = 50
    pad_token_id = bos_token_id = eos_token_id = 49

    def decode(self, ids: list[int]) -> str:
        return "<|endoftext|>" if ids == [49] else f"w{ids[0]}"


def bert(rows: int = 8, width: int = 12, seed: int = 0, left: bool = False) -> dict[str, Any]:
    """[CLS] words [SEP] padding, and the mask."""
    random = np.random.default_rng(seed)
    ids = np.full((rows, width), PAD, np.int32)
    for row in ids:
        long = int(random.integers(4, width))
        tokens = [CLS, *random.integers(FIRST, len(WORDS), long - 2), SEP]
        row[width - long :] = tokens if left else row[width - long :]
        row[:long] = row[:long] if left else tokens
    return {"input_ids": ids, "attention_mask": (ids != PAD).astype(np.int32)}


def gpt(rows: int = 8, width: int = 12, seed: int = 0, low: int = 5, high: int = 50) -> dict[str, Any]:
    """Words to the end, without padding."""
    ids = np.random.default_rng(seed).integers(low, high, (rows, width)).astype(np.int32)
    return {"input_ids": ids, "attention_mask": np.ones_like(ids)}


def masked_labels(ids: Any, ignore: int = -100, pad: int = PAD) -> Any:
    return np.where(ids == pad, ignore, ids)


def only(report: TokenReport) -> Violation:
    assert len(report) == 1, report
    return report.violations[0]


def of_rule(report: TokenReport, rule: str) -> Violation:
    found = [one for one in report if one.rule == rule]
    assert len(found) == 1, report
    return found[0]


def silent(report: TokenReport) -> bool:
    """No error, no warning, no note."""
    assert report.violations == (), report
    return bool(report)
