"""Arrays of inputs and labels that a program reorders apart, found by names in its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tensorsleuth.core.threads.syntax import parse_module

MAX_STEPS = 8  # from name to name
REORDERING = frozenset(["shuffle", "permutation"])  # of NumPy, random and scikit-learn, with an array alone
SEEDING = frozenset(["seed", "set_state", "setstate", "RandomState", "default_rng", "set_random_seed"])
KEEPING_CALLS = frozenset(["array", "asarray", "float32", "float64", "int32", "expand_dims", "squeeze", "copy"])
KEEPING_METHODS = frozenset(["astype", "reshape", "copy"])
PAIRING_CALLS = {"fit": False, "from_tensor_slices": True}  # whether the pair is one argument
Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Apart:
    """Two arrays that are fed as pairs, and the lines that reorder one of them alone."""

    names: tuple[str, str]
    lines: tuple[int, ...]
    reordered: tuple[str, ...]
    fed: int
    function: str


@dataclass(frozen=True)
class _History:
    """The names that an array had, the lines that reordered it, and the line that made it."""

    names: frozenset[str]
    reordered: tuple[tuple[int, str], ...]
    made: int


def reordered_apart(text: str) -> Iterator[Apart]:
    """Yield the pairs of a file whose parts have different orders, unless a seed may make them the same."""
    try:
        tree = parse_module(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    functions = (one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
    for scope in (tree, *functions):
        nodes = list(_own_nodes(scope))
        for names, line in _pairs(nodes):
            found = _apart(nodes, names, line, getattr(scope, "name", "<module>"))
            if found is not None:
                yield found


def _own_nodes(scope: Scope) -> Iterator[ast.AST]:
    todo: list[ast.AST] = list(scope.body)
    for one in todo:
        yield one
        if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            todo += ast.iter_child_nodes(one)


def _pairs(nodes: list[ast.AST]) -> Iterator[tuple[tuple[str, str], int]]:
    for call in (one for one in nodes if isinstance(one, ast.Call) and _leaf(one.func) in PAIRING_CALLS):
        given = call.args[:2]
        if PAIRING_CALLS[_leaf(call.func)]:
            given = given[0].elts if len(given) == 1 and isinstance(given[0], ast.Tuple) else []
        names = [one.id for one in given if isinstance(one, ast.Name)]
        if len(given) == len(names) == 2:
            yield (names[0], names[1]), call.lineno


def _apart(nodes: list[ast.AST], names: tuple[str, str], fed: int, function: str) -> Apart | None:
    one, other = (_history(nodes, name, fed) for name in names)
    events = sorted({*one.reordered, *other.reordered})
    lines = [line for line, _ in events]
    made_after = any(line < max(one.made, other.made) for line in lines)
    is_shared = bool(one.names & other.names)
    is_seeded = bool(one.reordered and other.reordered) and _seeds(nodes, lines[0], lines[-1])
    if not events or made_after or is_shared or is_seeded:
        return None
    return Apart(names, tuple(lines), tuple(dict.fromkeys(name for _, name in events)), fed, function)


def _seeds(nodes: list[ast.AST], first: int, last: int) -> bool:
    calls = (one for one in nodes if isinstance(one, ast.Call) and first <= one.lineno <= last)
    return any(_leaf(one.func) in SEEDING for one in calls)


def _history(nodes: list[ast.AST], name: str, before: int) -> _History:
    names, reordered, made = {name}, list[tuple[int, str]](), 0
    for _ in range(MAX_STEPS):
        value, made = _latest(nodes, name, before)
        places = [one.lineno for one in nodes if isinstance(one, ast.Call) and _reorders(one, name)]
        reordered += [(line, name) for line in places if made < line < before]
        base = _base(value) if value is not None else None
        if isinstance(value, ast.Call) and base is not None and _reorders(value, base):
            reordered.append((made, name))
        if base is None:
            break
        name, before = base, made
        names.add(name)
    return _History(frozenset(names), tuple(reordered), made)


def _latest(nodes: list[ast.AST], name: str, before: int) -> tuple[ast.expr | None, int]:
    """Return the last value that a name was given above a line, and where; part by part if it is taken apart."""
    found: tuple[ast.expr | None, int] = (None, 0)
    for one in (node for node in nodes if isinstance(node, ast.Assign)):
        for target in one.targets if found[1] < one.lineno < before else ():
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            values = one.value.elts if isinstance(one.value, ast.Tuple) else [None] * len(parts)
            whole = [one.value] if not isinstance(target, ast.Tuple) else values
            for part, value in zip(parts, whole, strict=False):
                if name in _names(part):
                    found = value if isinstance(part, ast.Name) else None, one.lineno
    return found


def _names(target: ast.expr) -> set[str]:
    if isinstance(target, ast.Subscript):
        return set()  # its rows are filled in
    return {one.id for one in ast.walk(target) if isinstance(one, ast.Name)}


def _reorders(call: ast.Call, name: str) -> bool:
    """Return whether a call gives an array, and nothing else, a new order."""
    alone = len(call.args) == 1 and not call.keywords
    return alone and _leaf(call.func) in REORDERING and getattr(call.args[0], "id", None) == name


def _base(value: ast.expr) -> str | None:
    """Return the name of the array whose order a value keeps."""
    if isinstance(value, ast.Name):
        return value.id
    if isinstance(value, ast.Subscript):
        index = value.slice.elts[0] if isinstance(value.slice, ast.Tuple) and value.slice.elts else value.slice
        return _base(value.value) if isinstance(index, ast.Slice) else None
    if isinstance(value, ast.BinOp):
        return _base(value.left) if isinstance(value.right, ast.Constant) else None
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in KEEPING_METHODS:
        inner = _base(value.func.value)
        return inner if value.func.attr != "copy" or not value.args else _base(value.args[0])
    if isinstance(value, ast.Call) and value.args and _leaf(value.func) in KEEPING_CALLS | REORDERING:
        return _base(value.args[0])
    return None


def _leaf(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
