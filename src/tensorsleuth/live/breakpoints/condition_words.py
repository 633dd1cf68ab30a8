"""The words of conditions, in the order of `Word` in native/src/observers/breaks.cc."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from tensorsleuth.core.modes import Mode


@dataclass(frozen=True)
class ConditionWord:
    """A word of a condition: a property of a tensor."""

    name: str
    needs: Mode  # the least detailed mode that provides the word
    description: str


_ALL = (
    ConditionWord("bad", Mode.CURT_HEALTH, "whether any value is NaN or infinite"),
    ConditionWord("nan", Mode.CONCISE_HEALTH, "how many are NaN"),
    ConditionWord("pos_inf", Mode.CONCISE_HEALTH, "how many are +∞"),
    ConditionWord("neg_inf", Mode.CONCISE_HEALTH, "how many are −∞"),
    ConditionWord("inf", Mode.CONCISE_HEALTH, "how many are +∞ or −∞"),
    ConditionWord("neg", Mode.FULL_HEALTH, "how many are negative"),
    ConditionWord("zero", Mode.FULL_HEALTH, "how many are zero"),
    ConditionWord("pos", Mode.FULL_HEALTH, "how many are positive"),
    ConditionWord("min", Mode.FULL_HEALTH, "the smallest value"),
    ConditionWord("max", Mode.FULL_HEALTH, "the largest value"),
    ConditionWord("abs_max", Mode.FULL_HEALTH, "the largest absolute value"),
    ConditionWord("mean", Mode.FULL_NUMERICS, "the mean of the finite values"),
    ConditionWord("std", Mode.FULL_NUMERICS, "the standard deviation of the finite values"),
    ConditionWord("norm", Mode.FULL_NUMERICS, "the Euclidean norm"),
    ConditionWord("size", Mode.SHAPE, "how many values there are"),
    ConditionWord("bytes", Mode.SHAPE, "how many bytes they take"),
    ConditionWord("rank", Mode.SHAPE, "how many dimensions"),
    ConditionWord("dtype", Mode.SHAPE, "the dtype, as a string: dtype == 'float16'"),
    ConditionWord("change", Mode.SHAPE, "‖new − old‖ / ‖old‖ since the last computation; for variables, over a step"),
    ConditionWord("step", Mode.NO_TENSOR, "the training step"),
    ConditionWord("iteration", Mode.NO_TENSOR, "the iteration of the innermost loop"),
)
WORDS = {word.name: word for word in _ALL}
WORD_NUMBERS = {word.name: number for number, word in enumerate(_ALL)}

# Two words that need more than a lookup: `grad_norm` also selects the gradients, `shape` needs an index.
GRAD_NORM = ConditionWord("grad_norm", Mode.FULL_NUMERICS, "the Euclidean norm of a gradient")
SHAPE = ConditionWord("shape", Mode.SHAPE, "the dimensions: shape[0], shape[-1], or all of them: shape == (2, 3)")
KNOWN_WORDS = {**WORDS, GRAD_NORM.name: GRAD_NORM, SHAPE.name: SHAPE}


class ConditionCode(IntEnum):
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
