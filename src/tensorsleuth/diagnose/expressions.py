"""The expressions of a program's lines, from the text of its files, and the one to mark in a finding."""

from __future__ import annotations

import ast
import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from tensorsleuth.core.catalog import Frame, Span
from tensorsleuth.core.ops.spellings import OPERATORS, OTHER_NAMES
from tensorsleuth.core.threads.syntax import parse_module
from tensorsleuth.trace.process.process import ProcessTrace

MAX_SOURCE_LENGTH = 1 << 20  # letters of a file that is parsed
# Keyword arguments to change, by cause, of the call that made a layer, an optimizer or a loss.
_RATE = ("learning_rate", "lr", "optimizer")
_LOSS = ("from_logits", "loss")
ARGUMENTS = {
    "exploding-gradients": _RATE,
    "flat-loss": _RATE,
    "frozen-weights": _RATE,
    "learning-rate": _RATE,
    "learning-rate-too-high": _RATE,
    "logits-as-probabilities": _LOSS,
    "loss-rose": _RATE,
    "no-warmup": _RATE,
    "probabilities-as-logits": _LOSS,
    "saturated-layer": ("activation",),
}
OF_FIRST_WEIGHTS = frozenset(["equal-weights", "initial-weights", "poor-initialisation"])  # an initializer made them
_VERSION = re.compile(r"V\d+$")  # of an op
_PARSE_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError)


def marked(process: ProcessTrace, frame: Frame | None, cause: str, op: str) -> Frame | None:
    """Return the frame with the expression that it is about, and with the line that this begins in."""
    if frame is None:
        return None
    if cause in OF_FIRST_WEIGHTS:
        from tensorsleuth.diagnose.initializers import initializer_frame

        return initializer_frame(process, frame) or frame
    expressions = process.cached(Expressions)
    if frame.span is None:
        return replace(frame, span=expressions.of_op(frame, op))
    span: Span = expressions.argument(frame, ARGUMENTS.get(cause, ())) or frame.span
    return replace(frame, span=span, line=span.line)


class Expressions:
    """Finds expressions. `process.cached(Expressions)` parses each file once."""

    def __init__(self, process: ProcessTrace) -> None:
        self._sources = process.catalogue.sources
        self._files: dict[str, _ParsedFile] = {}

    def of_op(self, frame: Frame, op: str) -> Span | None:
        """Return the only expression in a line that can have called an op."""
        names, operator = _spellings(op), OPERATORS.get(op)
        found = [node for node in self._file(frame.file).nodes(frame.line) if _calls(node, names, operator)]
        return span_of(found[0]) if len(found) == 1 else None

    def calls_object(self, frame: Frame) -> bool:
        """Return whether a line calls an object of the program, rather than a function of a module."""
        modules = self._file(frame.file).modules
        return any(_root(node.func) not in modules for node in self.calls(frame))

    def argument(self, frame: Frame, names: Iterable[str]) -> Span | None:
        """Return the first of these keyword arguments, with its name, of the call that a frame has the span of."""
        keyword = self.keyword(frame, names) if frame.span is not None else None
        return span_of(keyword) if keyword is not None else None

    def keyword(self, frame: Frame, names: Iterable[str]) -> ast.keyword | None:
        """Return the first of these arguments of the call that a frame has the span of, or of the only one with any."""
        calls = self.calls(frame)
        if frame.span is not None:
            calls = [node for node in calls if _ends(node) == _ends(frame.span)]
        given = [{one.arg: one for one in node.keywords} for node in calls]
        found = [next((one[name] for name in names if name in one), None) for one in given]
        known = [one for one in found if one is not None]
        return known[0] if len(known) == 1 else None

    def calls(self, frame: Frame) -> list[ast.Call]:
        """Return the calls that begin in a line."""
        return [node for node in self._file(frame.file).nodes(frame.line) if isinstance(node, ast.Call)]

    def all_calls(self, file: str) -> list[ast.Call]:
        """Return the calls of a file."""
        return [node for node in self._file(file).all_nodes if isinstance(node, ast.Call)]

    def assignments(self, file: str) -> list[ast.Assign]:
        """Return the assignments of a file."""
        return self._file(file).assignments

    def function_at(self, file: str, line: int) -> str:
        """Return the name of the innermost function around a line; `<module>` outside of any."""
        return self._file(file).function_at(line)

    def method_calls(self, frame: Frame, name: str) -> list[list[str]]:
        """Return the arguments of each call of a method in a line, as texts; `seed=1` for one with a name."""
        calls = (node for node in self._file(frame.file).nodes(frame.line) if isinstance(node, ast.Call))
        mine = [node for node in calls if isinstance(node.func, ast.Attribute) and node.func.attr == name]
        return [_argument_texts(node) for node in mine]

    def _file(self, path: str) -> _ParsedFile:
        if path not in self._files:
            self._files[path] = _ParsedFile(self._sources.get(path, ""))
        return self._files[path]


class _ParsedFile:
    """The expressions of a file by the lines that they begin in; none if it cannot be parsed."""

    def __init__(self, text: str) -> None:
        self._nodes: dict[int, list[ast.expr]] = defaultdict(list)
        self.modules: set[str] = set()  # names that imports gave
        self.assignments: list[ast.Assign] = []
        self._functions: list[ast.FunctionDef | ast.AsyncFunctionDef] = []
        for node in walk_source(text):
            if isinstance(node, ast.expr):
                self._nodes[_line(node)].append(node)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                self.modules |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.Assign):
                self.assignments.append(node)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self._functions.append(node)

    def nodes(self, line: int) -> list[ast.expr]:
        return self._nodes.get(line, [])

    def function_at(self, line: int) -> str:
        around = [one for one in self._functions if one.lineno <= line <= (one.end_lineno or one.lineno)]
        return max(around, key=lambda one: one.lineno).name if around else "<module>"

    @property
    def all_nodes(self) -> list[ast.expr]:
        return [node for nodes in self._nodes.values() for node in nodes]


def walk_source(text: str) -> Iterator[ast.AST]:
    """Yield the nodes of a program's text; none if it cannot be parsed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the program's own text, which it has been told
            tree = parse_module(text if len(text) <= MAX_SOURCE_LENGTH else "")
    except _PARSE_ERRORS:
        return
    yield from ast.walk(tree)


def _line(node: ast.expr) -> int:
    """Return the line that Python gives a call: of a method's name, where that is on another."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.end_lineno or node.lineno
    return node.lineno


def _calls(node: ast.expr, names: frozenset[str], operator: str | None) -> bool:
    if isinstance(node, ast.Call):
        return _leaf(node.func).replace("_", "").lower() in names
    return isinstance(node, ast.BinOp | ast.UnaryOp) and type(node.op).__name__ == operator


def _argument_texts(call: ast.Call) -> list[str]:
    return [*map(ast.unparse, call.args), *(f"{one.arg}={ast.unparse(one.value)}" for one in call.keywords)]


def _leaf(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _root(function: ast.expr) -> str:
    """Return the name that an expression begins with: `tf` of `tf.math.log`, `self` of `self.parts[0]`."""
    while isinstance(function, ast.Attribute | ast.Subscript | ast.Call):
        function = function.func if isinstance(function, ast.Call) else function.value
    return getattr(function, "id", "")


def span_of(node: ast.expr | ast.keyword) -> Span:
    """Return where an expression begins and ends."""
    return Span(node.lineno, node.col_offset, *_ends(node))


def _ends(node: ast.expr | ast.keyword | Span) -> tuple[int, int]:
    if isinstance(node, Span):
        return node.end_line, node.end_column
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _spellings(op: str) -> frozenset[str]:
    """Return the names of functions that may have called an op, in lower case without underscores."""
    plain = _VERSION.sub("", op).lower()
    return frozenset({plain, f"reduce{plain}", *(name.replace("_", "") for name in OTHER_NAMES.get(op, ()))})
