"""What each argument is for: by name, by the ops that take it, by what is in it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.token_batches import bert

from tensorsleuth.data.tokens.arguments import judge_arguments
from tensorsleuth.data.tokens.roles import Argument, find_roles, vocabulary_size
from tensorsleuth.data.tokens.settings import TokenSettings
from tensorsleuth.data.tokens.vocabulary import vocabulary_of_size

IDS = bert()["input_ids"]
KEEP = (IDS != 0).astype(np.int32)
CLASSES = np.arange(8) % 2


def roles(*arguments: Argument) -> dict[str, str]:
    return find_roles(arguments)


@pytest.mark.parametrize("reverse", [False, True])
def test_by_name(reverse: bool) -> None:
    named = {
        "input_ids": "ids",
        "attention_mask": "mask",
        "labels": "labels",
        "token_type_ids": "segments",
        "position_ids": "positions",
    }
    arguments = [Argument(f"inputs/{name}:0", IDS) for name in named]
    found = find_roles(arguments[::-1] if reverse else arguments)
    assert found == {f"inputs/{name}:0": role for name, role in named.items()}
    keras = ("encoder_token_ids", "encoder_padding_mask", "decoder_token_ids", "decoder_padding_mask", "sample_weight")
    assert list(roles(*(Argument(name, IDS) for name in keras)).values()) == [
        "ids",
        "mask",
        "decoder_ids",
        "decoder_mask",
        "weights",
    ]


def test_by_the_ops_that_take_it() -> None:
    found = roles(
        Argument("a", IDS, ("SparseSoftmaxCrossEntropyWithLogits",)),
        Argument("b", IDS, ("Cast", "ResourceGather"), vocabulary=30_522),
        Argument("c", KEEP, ("Cast", "Sub")),
        Argument("d", CLASSES, ("Identity",)),
    )
    assert found == {"a": "labels", "b": "ids", "c": "mask"}
    arguments = [
        Argument("b", IDS, ("ResourceGather",), vocabulary=30_522),
        Argument("t", KEEP, ("ResourceGather",), vocabulary=2),
    ]
    assert find_roles(arguments) == {"b": "ids", "t": "mask"}, "two rows are no vocabulary"
    assert vocabulary_size(arguments, find_roles(arguments)) == 30_522


def test_by_what_is_in_it() -> None:
    assert roles(Argument("0", KEEP), Argument("1", IDS), Argument("2", CLASSES)) == {
        "0": "mask",
        "1": "ids",
        "2": "labels",
    }
    assert roles(Argument("0", KEEP)) == {"0": "ids"}, "one alone is what is read"
    assert roles(Argument("0", np.zeros((3, 4), np.float32))) == {}
    assert roles(Argument("0", np.array(["a", "b"]))) == {"0": "text"}


def test_what_a_recording_kept_is_judged() -> None:
    """Names say nothing here, as in a program of one's own: the ops do."""
    ids = Argument("train/a", IDS, ("ResourceGather",), vocabulary=14)
    mask = Argument("train/b", KEEP, ("Cast", "Sub"))
    labels = Argument("train/c", np.where(IDS == 0, -100, IDS), ("SparseSoftmaxCrossEntropyWithLogits",))
    assert [one.severity for one in judge_arguments([mask, ids, labels])] == ["note"]
    inverted = Argument("train/b", 1 - KEEP, ("Cast", "Sub"))
    found = judge_arguments([ids, inverted, labels])
    assert [(one.rule, one.name) for one in found if one.severity == "error"] == [("mask-inverted", "train/b")]
    small = Argument("train/a", IDS, ("ResourceGather",), vocabulary=10)
    assert judge_arguments([small])[0].expected == "ids from 0 to 9"
    assert judge_arguments([Argument("x", np.zeros((3, 4), np.float32))]) == []
    assert judge_arguments([small], TokenSettings(vocabulary_of_size(14), pad=0)) == []
