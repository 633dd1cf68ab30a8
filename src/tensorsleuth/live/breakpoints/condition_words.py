"""The words that conditions are made of. Their order is that of `Word` in native/src/observers/breaks.cc."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from tensorsleuth.core.modes import Mode


@dataclass(frozen=True)
class Word:
    """Something that a condition can ask of a tensor."""

    name: str
    needs: Mode  # how closely the tensor has to be looked at
    says: str


_ALL = (
    Word("bad", Mode.CURT_HEALTH, "whether any value is NaN or infinite"),
    Word("nan", Mode.CONCISE_HEALTH, "how many are NaN"),
    Word("pos_inf", Mode.CONCISE_HEALTH, "how many are +∞"),
    Word("neg_inf", Mode.CONCISE_HEALTH, "how many are −∞"),
    Word("inf", Mode.CONCISE_HEALTH, "how many are +∞ or −∞"),
    Word("neg", Mode.FULL_HEALTH, "how many are negative"),
    Word("zero", Mode.FULL_HEALTH, "how many are zero"),
    Word("pos", Mode.FULL_HEALTH, "how many are positive"),
    Word("min", Mode.FULL_HEALTH, "the smallest value"),
    Word("max", Mode.FULL_HEALTH, "the largest value"),
    Word("abs_max", Mode.FULL_HEALTH, "the largest absolute value"),
    Word("mean", Mode.FULL_NUMERICS, "the mean of the finite values"),
    Word("std", Mode.FULL_NUMERICS, "their standard deviation"),
    Word("norm", Mode.FULL_NUMERICS, "the Euclidean norm"),
    Word("size", Mode.SHAPE, "how many values there are"),
    Word("bytes", Mode.SHAPE, "how many bytes they take"),
    Word("rank", Mode.SHAPE, "how many dimensions"),
    Word("dtype", Mode.SHAPE, "the type, as a text: dtype == 'float16'"),
    Word("change", Mode.SHAPE, "‖new − old‖ / ‖old‖ since it was last computed; of variables"),
    Word("step", Mode.NO_TENSOR, "the training step"),
    Word("iteration", Mode.NO_TENSOR, "the iteration of the innermost loop"),
)
WORDS = {word.name: word for word in _ALL}
NUMBERS = {word.name: number for number, word in enumerate(_ALL)}

# What is more than a word: `grad_norm` also says which tensors are meant, `shape` needs an index.
GRAD_NORM = Word("grad_norm", Mode.FULL_NUMERICS, "the Euclidean norm; of gradients")
SHAPE = Word("shape", Mode.SHAPE, "the dimensions: shape[0], shape[-1]; or the whole: shape == (2, 3)")
KNOWN = {**WORDS, GRAD_NORM.name: GRAD_NORM, SHAPE.name: SHAPE}


class Code(IntEnum):
    """The instructions of the stack machine, the same as `Code` in native/src/observers/breaks.cc."""

    CONSTANT = 0
    WORD = 1
    DIMENSION = 2
    MINUS = 3
    NOT = 4
    ADD = 5
    SUBTRACT = 6
    TIMES = 7
    DIVIDE = 8
    LESS = 9
    LESS_EQUAL = 10
    GREATER = 11
    GREATER_EQUAL = 12
    EQUAL = 13
    NOT_EQUAL = 14
    AND = 15
    OR = 16
