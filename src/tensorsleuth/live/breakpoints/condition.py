"""Reads a condition, such as `nan > 0 or norm > 100`, into a small program that the native probe runs."""

from __future__ import annotations

import ast
import difflib
from dataclasses import dataclass
from typing import NoReturn

from tensorsleuth.core.dtypes import DTYPES
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.modes import Mode
from tensorsleuth.core.threads.syntax import parse_expression
from tensorsleuth.live.breakpoints.condition_words import GRAD_NORM, KNOWN_WORDS, SHAPE, WORD_NUMBERS, ConditionCode

MAX_INSTRUCTIONS = 256  # as in native/src/observers/breaks.cc

Instruction = tuple[ConditionCode, float]
_ARITHMETIC: dict[type[ast.operator], ConditionCode] = {
    ast.Add: ConditionCode.ADD,
    ast.Sub: ConditionCode.SUBTRACT,
    ast.Mult: ConditionCode.TIMES,
    ast.Div: ConditionCode.DIVIDE,
}
_COMPARISONS: dict[type[ast.cmpop], ConditionCode] = {
    ast.Lt: ConditionCode.LESS,
    ast.LtE: ConditionCode.LESS_EQUAL,
    ast.Gt: ConditionCode.GREATER,
    ast.GtE: ConditionCode.GREATER_EQUAL,
    ast.Eq: ConditionCode.EQUAL,
    ast.NotEq: ConditionCode.NOT_EQUAL,
}
_DTYPES = {dtype.name: dtype.number for dtype in DTYPES.values()}


@dataclass(frozen=True)
class Condition:
    """A parsed condition."""

    text: str
    code: tuple[Instruction, ...]
    needs: Mode  # the least detailed mode that provides the words of the condition
    words: frozenset[str]

    @property
    def of_gradients(self) -> bool:
        return GRAD_NORM.name in self.words

    @property
    def of_variables(self) -> bool:
        return "change" in self.words


ALWAYS = Condition("", ((ConditionCode.CONSTANT, 1.0),), Mode.SHAPE, frozenset())


def parse_condition(text: str) -> Condition:
    """Parse a condition. Raise SleuthError with the part that is wrong."""
    if not isinstance(text, str) or not text.strip():
        raise SleuthError(
            f"{text!r} is not a condition: write one such as 'nan > 0', or pass a function of (op, value)."
        )
    try:
        tree = parse_expression(text.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = getattr(error, "msg", None) or type(error).__name__
        raise SleuthError(f"the condition {text!r} is not understood: {reason}. Write one such as 'nan > 0'.") from None
    condition_reader = _ConditionReader(text)
    condition_reader.read(tree.body)
    if len(condition_reader.code) > MAX_INSTRUCTIONS:
        raise SleuthError(f"the condition {text!r} is too long: split it into several break_when.")
    needs = max((KNOWN_WORDS[word].needs for word in condition_reader.words), default=Mode.NO_TENSOR)
    return Condition(text, tuple(condition_reader.code), needs, frozenset(condition_reader.words))


class _ConditionReader:
    """Turns an expression into instructions, operands first."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.code: list[Instruction] = []
        self.words: set[str] = set()

    def read(self, node: ast.expr) -> None:
        if isinstance(node, ast.BoolOp):
            self._all(node.values, ConditionCode.AND if isinstance(node.op, ast.And) else ConditionCode.OR)
        elif isinstance(node, ast.UnaryOp):
            self._unary(node)
        elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
            self.read(node.left)
            self.read(node.right)
            self._do(_ARITHMETIC[type(node.op)])
        elif isinstance(node, ast.Compare):
            self._compare(node)
        elif isinstance(node, ast.Subscript):
            self._dimension(node)
        elif isinstance(node, ast.Name):
            self._word(node.id)
        else:
            self._constant(node)

    def _do(self, condition_code: ConditionCode, value: float = 0.0) -> None:
        self.code.append((condition_code, value))

    def _all(self, parts: list[ast.expr], condition_code: ConditionCode) -> None:
        for number, part in enumerate(parts):
            self.read(part)
            if number:
                self._do(condition_code)

    def _unary(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Invert):
            self._refuse(node, "use `not`")
        self.read(node.operand)
        if not isinstance(node.op, ast.UAdd):
            self._do(ConditionCode.NOT if isinstance(node.op, ast.Not) else ConditionCode.MINUS)

    def _constant(self, node: ast.expr) -> None:
        if not isinstance(node, ast.Constant) or not isinstance(node.value, bool | int | float):
            self._refuse(node, "only words, numbers, comparisons, + - * /, and, or, not are allowed")
        try:
            self._do(ConditionCode.CONSTANT, float(node.value))
        except OverflowError:
            self._refuse(node, "the number is too large")

    def _word(self, name: str) -> None:
        if name == SHAPE.name:
            self._refuse(name, "shape needs an index, shape[0], or a comparison with a tuple, shape == (2, 3)")
        if name == "dtype":
            self._refuse(name, "compare dtype with a name: dtype == 'float16'")
        self._load(name)

    def _load(self, name: str) -> None:
        if name not in KNOWN_WORDS:
            raise_unknown_word(self._text, name)
        self.words.add(name)
        self._do(ConditionCode.WORD, WORD_NUMBERS["norm" if name == GRAD_NORM.name else name])

    def _dimension(self, node: ast.Subscript) -> None:
        if not isinstance(node.value, ast.Name) or node.value.id != SHAPE.name:
            self._refuse(node, "only shape has an index")
        try:
            at = ast.literal_eval(node.slice)
        except (ValueError, TypeError, SyntaxError):
            at = None
        if not isinstance(at, int) or isinstance(at, bool) or not -8 <= at < 8:
            self._refuse(node, "the index of shape must be an integer from -8 to 7")
        self.words.add(SHAPE.name)
        self._do(ConditionCode.DIMENSION, float(at))

    # ---- comparisons

    def _compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for number, op in enumerate(node.ops):
            self._one_comparison(sides[number], op, sides[number + 1])
            if number:
                self._do(ConditionCode.AND)

    def _one_comparison(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> None:
        if _is_word(right, "dtype") or _is_word(right, SHAPE.name):
            left, right = right, left
        if _is_word(left, "dtype"):
            self._compare_dtype(op, right)
        elif _is_word(left, SHAPE.name):
            self._compare_shape(op, right)
        elif type(op) in _COMPARISONS:
            self.read(left)
            self.read(right)
            self._do(_COMPARISONS[type(op)])
        else:
            self._refuse(right, "`in` works only with dtype")

    def _compare_dtype(self, op: ast.cmpop, right: ast.expr) -> None:
        several = isinstance(op, ast.In | ast.NotIn)
        if not several and not isinstance(op, ast.Eq | ast.NotEq):
            self._refuse(right, "compare dtype with ==, != or in")
        names = self._texts(right, several)
        for number, name in enumerate(names):
            self._load("dtype")
            self._do(ConditionCode.CONSTANT, float(self._dtype(name)))
            self._do(ConditionCode.EQUAL)
            if number:
                self._do(ConditionCode.OR)
        if isinstance(op, ast.NotEq | ast.NotIn):
            self._do(ConditionCode.NOT)

    def _texts(self, node: ast.expr, several: bool) -> list[str]:
        try:
            value = ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError):
            value = None
        values = list(value) if several and isinstance(value, tuple | list | set) else [value]
        if not values or not all(isinstance(one, str) for one in values):
            self._refuse(node, "compare dtype with names: 'float16', or in ('float16', 'bfloat16')")
        return values

    def _dtype(self, name: str) -> int:
        if name not in _DTYPES:
            near = difflib.get_close_matches(name, _DTYPES, 1)
            hint = f"Did you mean {near[0]!r}?" if near else f"The dtypes are {', '.join(sorted(_DTYPES))}."
            raise SleuthError(f"the condition {self._text!r} has an unknown dtype {name!r}. {hint}")
        return _DTYPES[name]

    def _compare_shape(self, op: ast.cmpop, right: ast.expr) -> None:
        try:
            dims = ast.literal_eval(right)
        except (ValueError, TypeError, SyntaxError):
            dims = None
        whole = isinstance(dims, tuple | list) and len(dims) <= 8 and all(type(dim) is int for dim in dims)
        if not whole or not isinstance(op, ast.Eq | ast.NotEq):
            self._refuse(right, "compare shape with == or != and a tuple: shape == (2, 3)")
        assert isinstance(dims, tuple | list)
        self.words.add(SHAPE.name)
        self._load("rank")
        self._do(ConditionCode.CONSTANT, float(len(dims)))
        self._do(ConditionCode.EQUAL)
        for at, dim in enumerate(dims):
            self.code += [
                (ConditionCode.DIMENSION, float(at)),
                (ConditionCode.CONSTANT, float(dim)),
                (ConditionCode.EQUAL, 0.0),
                (ConditionCode.AND, 0.0),
            ]
        if isinstance(op, ast.NotEq):
            self._do(ConditionCode.NOT)

    def _refuse(self, node: ast.AST | str, why: str) -> NoReturn:
        part = node if isinstance(node, str) else ast.unparse(node)
        raise SleuthError(f"the condition {self._text!r} is not understood at {part!r}: {why}.")


def _is_word(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def raise_unknown_word(text: str, name: str) -> NoReturn:
    """Raise SleuthError with the unknown word, the nearest known word, and all known words."""
    near = difflib.get_close_matches(name, KNOWN_WORDS, 1, 0.5)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise SleuthError(
        f"the condition {text!r} has an unknown word {name!r}.{hint} The words are {', '.join(KNOWN_WORDS)}."
    )
