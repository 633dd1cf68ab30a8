"""The line of the program that computed an array with NumPy or pandas, found by names in its source.

Nothing of NumPy is recorded. The walk goes from the names in the line that fed the array to the lines that assign them,
until one computes something that can be NaN or infinite.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from tensorsleuth.core.threads.syntax import parse_module

MAX_STEPS = 8  # from name to name
RISKY_CALLS = frozenset(
    [
        *("log", "log2", "log10", "log1p", "exp", "expm1", "sqrt", "power", "divide", "true_divide", "reciprocal"),
        *("arccos", "arcsin", "arctanh", "arccosh", "div", "truediv", "rdiv", "pct_change", "cumprod"),
        # of pandas: rows without a value before them, cells that are missing, text that is no number
        *("rolling", "shift", "diff", "merge", "reindex", "resample", "unstack", "pivot", "pivot_table", "to_numeric"),
        *("read_csv", "read_table", "read_excel", "genfromtxt"),
    ]
)
CLEANING_CALLS = frozenset(["dropna", "fillna", "nan_to_num", "interpolate", "ffill", "bfill"])
SIZE_ATTRIBUTES = frozenset(
    ["shape", "size", "ndim", "dtype", "columns", "index"]
)  # of an array, and none of its values
BAD_CONSTANTS = frozenset(["nan", "inf", "NaN", "Inf", "infty", "NINF", "PINF", "NA"])
TENSORFLOW = frozenset(["tf", "tensorflow", "keras"])
Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class ArraySource:
    """A line that may have made an array NaN or infinite."""

    line: int
    code: str


def array_sources(text: str, line: int) -> list[ArraySource]:
    """Return the nearest line, for each name in a line, that computes it and that can make a NaN or an infinity."""
    tree = _parsed(text)
    scopes = _scopes_around(tree, line) if tree is not None else []
    start = _statement_at(scopes[0], line) if scopes else None
    if tree is None or start is None:
        return []
    nearest = (next(_Walk(tree).from_name(name, start, scopes), None) for name in _names(_own_part(start)))
    lines = dict.fromkeys(one.lineno for one in nearest if one is not None and one.lineno != line)
    return [ArraySource(at, text.splitlines()[at - 1].split("#")[0].strip()) for at in lines]


@dataclass(frozen=True)
class AssignedValue:
    """The expression that a name stands for, and the function that it is in."""

    node: ast.expr
    function: str


def assigned_value(text: str, name: str, line: int) -> AssignedValue | None:
    """Return the only value that a name may have in a line, through other names, parameters and returned values."""
    tree = _parsed(text)
    scopes = _scopes_around(tree, line) if tree is not None else []
    for _ in range(MAX_STEPS if tree is not None else 0):
        found = list(_Walk(tree).values(name, line, scopes)) if tree is not None else []
        if len(found) != 1:
            break
        value, line, scopes = found[0]
        if not isinstance(value, ast.Name):
            return AssignedValue(value, getattr(scopes[0], "name", "<module>"))
        name = value.id
    return None


def latest_value(text: str, name: str, line: int) -> AssignedValue | None:
    """Return the expression that a name was given last above a line, in the function of that line or in the module."""
    tree = _parsed(text)
    scopes = _scopes_around(tree, line) if tree is not None else []
    for scope in scopes:
        given = [one for one in _assignments(scope, name) if scope is not scopes[0] or one[1] < line]
        if given:
            value, _ = max(given, key=lambda one: one[1])
            return AssignedValue(value, getattr(scope, "name", "<module>"))
        if name in _parameters(scope):
            return None
    return None


def _parsed(text: str) -> ast.Module | None:
    try:
        return parse_module(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


@dataclass
class _Walk:
    tree: ast.Module
    seen: set[tuple[int, str]] = field(default_factory=set)

    def from_name(self, name: str, statement: ast.stmt, scopes: list[Scope]) -> Iterator[ast.expr]:
        """Yield risky expressions behind a name in a statement, nearest first."""
        level = [(name, statement.lineno, scopes)]
        for _ in range(MAX_STEPS):
            following = []
            for name, before, around in level:
                for value, line, where in self.values(name, before, around):
                    yield from _risky(value)
                    following += [(one, line, where) for one in _names(value)]
            level = following

    def values(self, name: str, before: int, scopes: list[Scope]) -> Iterator[tuple[ast.expr, int, list[Scope]]]:
        """Yield the values that a name was given, in the innermost scope that assigns it, and what it returns."""
        for at, scope in enumerate(scopes):
            if (id(scope), name) in self.seen:
                return
            given = [one for one in _assignments(scope, name) if at or one[1] < before or _in_loop(scope, one[1])]
            returned = [(one.value, one.lineno) for one in _returns(scope, name) if one.value is not None]
            if given or returned:
                self.seen.add((id(scope), name))
                for value, line in reversed(given):
                    yield from self._parts(value, line, scopes[at:], name)
                function = _function(scope, name)
                yield from ((value, line, [function, *scopes[at:]]) for value, line in returned if function)
                return
            if name in _parameters(scope):
                self.seen.add((id(scope), name))
                yield from self._arguments(scope, name)
                return

    def _parts(
        self, value: ast.expr, line: int, scopes: list[Scope], name: str
    ) -> Iterator[tuple[ast.expr, int, list[Scope]]]:
        """Yield what a name gets of a value that is taken apart: `x, y = split(a, b)`."""
        path = _path(scopes[0], name, value)
        if not path:
            yield value, line, scopes
            return
        function = _leaf(value.func) if isinstance(value, ast.Call) else ""
        returned: list[tuple[Scope | None, ast.expr | None]] = [
            (scope, one.value) for scope in scopes for one in _returns(scope, function)
        ]
        for scope, whole in returned or [(None, value)]:
            part = _part(whole, path)
            inner = _function(scope, function) if scope is not None else None
            around = [inner, *scopes] if inner is not None else scopes
            yield (part, part.lineno, around) if part is not None else (value, line, scopes)

    def _arguments(self, function: Scope, name: str) -> Iterator[tuple[ast.expr, int, list[Scope]]]:
        """Yield what calls of a function give a parameter."""
        at = _parameters(function).index(name)
        for call in ast.walk(self.tree):
            if isinstance(call, ast.Call) and _leaf(call.func) == getattr(function, "name", ""):
                named = [one.value for one in call.keywords if one.arg == name]
                place = at - (isinstance(call.func, ast.Attribute) and _parameters(function)[:1] == ["self"])
                for value in named or call.args[place : place + 1]:
                    yield value, call.lineno, _scopes_around(self.tree, call.lineno)


def _scopes_around(tree: ast.Module, line: int) -> list[Scope]:
    """Return the functions that a line is in, innermost first, and the module."""
    functions = (one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
    around = [one for one in functions if one.lineno <= line <= (one.end_lineno or one.lineno)]
    return [*sorted(around, key=lambda one: -one.lineno), tree]


def _statement_at(scope: Scope, line: int) -> ast.stmt | None:
    found = (
        one
        for one in ast.walk(scope)
        if isinstance(one, ast.stmt) and one is not scope and one.lineno <= line <= (one.end_lineno or one.lineno)
    )
    return max(found, key=lambda one: one.lineno, default=None)


def _own_part(statement: ast.stmt) -> ast.AST:
    """Return the head of a compound statement: its body are statements of their own."""
    if isinstance(statement, ast.For | ast.AsyncFor):
        return statement.iter
    if isinstance(statement, ast.While | ast.If):
        return statement.test
    return ast.Tuple([one.context_expr for one in statement.items]) if isinstance(statement, ast.With) else statement


def _names(tree: ast.AST) -> list[str]:
    """Return the names whose values go into it, without those of TensorFlow's functions, sizes and places."""
    names = [one.id for one in _value_parts(tree) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)]
    return list(dict.fromkeys(name for name in names if name not in TENSORFLOW))


def _value_parts(tree: ast.AST) -> Iterator[ast.AST]:
    """Walk an expression, but for indexes, sizes, and what a call has cleaned of NaN."""
    todo = [tree]
    for one in todo:
        if isinstance(one, ast.Attribute) and one.attr in SIZE_ATTRIBUTES:
            continue
        if isinstance(one, ast.Call) and _leaf(one.func) in CLEANING_CALLS | {"len"}:
            continue
        yield one
        todo += [one.value] if isinstance(one, ast.Subscript) else ast.iter_child_nodes(one)


def _assignments(scope: Scope, name: str) -> list[tuple[ast.expr, int]]:
    """Return the values that a scope gives a name, an element, a column or an attribute of it."""
    found: list[tuple[ast.expr, int]] = []
    for one in _own_statements(scope):
        if isinstance(one, ast.Assign) and any(_is_target(target, name) for target in one.targets):
            found.append((one.value, one.lineno))
        elif isinstance(one, ast.AugAssign) and _is_target(one.target, name):
            found.append((ast.copy_location(ast.BinOp(one.target, one.op, one.value), one), one.lineno))
        elif isinstance(one, ast.AnnAssign) and one.value is not None and _is_target(one.target, name):
            found.append((one.value, one.lineno))
        elif isinstance(one, ast.For) and _is_target(one.target, name):
            found.append((one.iter, one.lineno))
    return found


def _path(scope: Scope, name: str, value: ast.expr) -> list[int]:
    """Return the places of a name among those that a value is taken apart into, `(x, y), z = …`; outermost first."""
    targets = [one.targets for one in _own_statements(scope) if isinstance(one, ast.Assign) and one.value is value]
    target = next((one for some in targets for one in some if _is_target(one, name)), None)
    path = []
    while isinstance(target, ast.Tuple | ast.List):
        at, target = next((at, part) for at, part in enumerate(target.elts) if _is_target(part, name))
        path.append(at)
    return path


def _part(value: ast.expr | None, path: list[int]) -> ast.expr | None:
    for at in path:
        if not isinstance(value, ast.Tuple | ast.List) or at >= len(value.elts):
            return None
        value = value.elts[at]
    return value


def _own_statements(scope: Scope) -> Iterator[ast.stmt]:
    """Yield the statements of a scope, without those of functions in it."""
    todo: list[ast.AST] = list(scope.body)
    for one in todo:
        if isinstance(one, ast.stmt):
            yield one
        if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.expr):
            todo += ast.iter_child_nodes(one)


def _is_target(target: ast.expr, name: str) -> bool:
    if isinstance(target, ast.Tuple | ast.List):
        return any(_is_target(one, name) for one in target.elts)
    while isinstance(target, ast.Subscript | ast.Starred):
        target = target.value
    return isinstance(target, ast.Name) and target.id == name


def _function(scope: Scope, name: str) -> Scope | None:
    functions = (one for one in _own_statements(scope) if isinstance(one, ast.FunctionDef))
    return next((one for one in functions if one.name == name), None)


def _returns(scope: Scope, name: str) -> list[ast.Return]:
    """Return the return statements of a function that is defined in a scope."""
    function = _function(scope, name)
    return [one for one in _own_statements(function) if isinstance(one, ast.Return)] if function is not None else []


def _parameters(scope: Scope) -> list[str]:
    if isinstance(scope, ast.Module):
        return []
    return [one.arg for one in (*scope.args.posonlyargs, *scope.args.args, *scope.args.kwonlyargs)]


def _in_loop(scope: Scope, line: int) -> bool:
    """Return whether a line is in a loop, so that it may run before lines above it."""
    loops = (one for one in _own_statements(scope) if isinstance(one, ast.For | ast.While))
    return any(one.lineno <= line <= (one.end_lineno or one.lineno) for one in loops)


def _leaf(function: ast.expr) -> str:
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def _root(expression: ast.expr) -> str:
    while isinstance(expression, ast.Attribute | ast.Call | ast.Subscript):
        expression = expression.func if isinstance(expression, ast.Call) else expression.value
    return expression.id if isinstance(expression, ast.Name) else ""


def _risky(value: ast.expr) -> Iterator[ast.expr]:
    """Yield the parts of an expression that can be NaN or infinite for finite numbers."""
    for one in _value_parts(value):
        if (
            (isinstance(one, ast.BinOp) and isinstance(one.op, ast.Div) and _may_be_zero(one))
            or (isinstance(one, ast.Call) and _leaf(one.func) in RISKY_CALLS and _root(one.func) not in TENSORFLOW)
            or (isinstance(one, ast.Attribute) and one.attr in BAD_CONSTANTS)
            or (isinstance(one, ast.Constant) and isinstance(one.value, str) and one.value in BAD_CONSTANTS)
        ):
            yield one


def _may_be_zero(division: ast.BinOp) -> bool:
    """Return whether the divisor is no number that is written there, and the left side no text."""
    is_text = isinstance(division.left, ast.Constant | ast.JoinedStr) and not isinstance(
        getattr(division.left, "value", None), int | float
    )
    return not is_text and not (isinstance(division.right, ast.Constant) and bool(division.right.value))
