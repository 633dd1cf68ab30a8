"""Every part of every message of the checks is asserted by a test: what, where, seen and expected, the next step."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("data", "live/expect", "live/layer_stats", "live/watch", "recording/violations")
SAYING = frozenset({"SleuthError", "complain", "Violation", "_wrong", "DataError"})
TO_SAY = frozenset({"change", "found", "expected", "hint", "advice"})
LEAST = 4  # letters of a part that says something


def strings(node: ast.AST) -> Iterator[str]:
    """The fixed parts of all texts in a piece of code; of formatted ones, what stands between the values."""
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one.value


def says(node: ast.AST) -> bool:
    """Is it a call that says something, or what is to be said."""
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Name) and target.id in TO_SAY for target in node.targets)
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(called, ast.Name) and called.id in SAYING


def parts() -> list[tuple[str, str]]:
    """Where, and a part of a message that is said there."""
    found = []
    folders = [ROOT / "src/tensorsleuth" / folder for folder in FOLDERS]
    paths = [path for folder in folders for path in sorted(folder.rglob("*.py")) if "tokens" not in path.parts]
    for path in paths:
        for node in [node for node in ast.walk(ast.parse(path.read_text())) if says(node)]:
            said = [text.strip(" .,:;()") for text in strings(node)]
            place = f"{path.parent.name}/{path.name}:{getattr(node, 'lineno', 0)}"
            found += [(place, text) for text in said if is_part(text)]
    return found


def is_part(text: str) -> bool:
    """Does it say something: not a mark, a name or a regular expression."""
    return sum(map(str.isalpha, text)) >= LEAST and " " in text and "\\" not in text


@cache
def asserted() -> str:
    """All texts of the tests, without what regular expressions put before their signs."""
    files = [path for folder in ("unit", "compat", "integration") for path in (ROOT / "tests" / folder).glob("*.py")]
    texts = [text for path in files if path != Path(__file__) for text in strings(ast.parse(path.read_text()))]
    return "\n".join(re.sub(r"\\(?=[^\w\s])", "", text) for text in texts)


def test_parts_of_messages_are_asserted() -> None:
    unasserted = [(place, part) for place, part in parts() if part not in asserted()]
    assert not unasserted, f"no test asserts these parts of messages: {unasserted}"


def test_parts_are_found() -> None:
    assert len(parts()) > 100
