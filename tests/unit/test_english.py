"""The English of docstrings, messages and documents: words and openings that must not come back (CONTRIBUTING.md)."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "tensorsleuth"
DOCUMENTS = [ROOT / f"{name}.md" for name in ("README", "ARCHITECTURE", "CHANGELOG", "CONTRIBUTING", "SECURITY")]
DOCUMENTS += sorted((ROOT / "docs").glob("*.md"))
WIDTH = 120

# A docstring starts with a verb, or with the thing that it is about.
OPENINGS = re.compile(r"(What|Of|Those|The same|Which|Where|How|Who|Whose|Whether)\b")

# On the right are the words of the field, for readers of a failure.
WORDS = {
    r"whole numbers?": "integer",
    r"truth values?": "boolean",
    r"otherwise than": "differently from",
    r"told apart": "distinguished, unattributed",
    r"other way round": "inverted, in reverse order",
    r"moved (the wrong way|twice)": "shifted",
    r"never right": "always wrong",
    r"lines? that (is|are) not known": "unknown line",
    r"no bad value that matters": "no problem found",
    r"our own probes": "recording overhead",
    r"usual step": "typical step",
    r"by luck": "by chance",
    r"that were looked at": "sampled",
    r"\d looks\b": "samples",
}
_OLD = re.compile(r"\b(" + "|".join(WORDS) + r")\b", re.IGNORECASE)

# How many sentences have more than one colon or semicolon. Each number may only fall; a file without an entry has none.
CROWDED_DOCUMENTS = {
    "README.md": 13,
    "CHANGELOG.md": 8,
    "CONTRIBUTING.md": 2,
    "SECURITY.md": 2,
}
CROWDED_DOCSTRINGS = {
    "data": 8,
    "diagnose": 13,
    "integrations": 10,
    "live": 7,
    "native": 1,
    "recording": 2,
    "trace": 10,
    "ui": 14,
}

_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@cache
def _texts() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the docstrings and all strings of the sources, each with its place."""
    docstrings, strings = [], []
    for path in sorted(SOURCES.rglob("*.py")):
        name = str(path.relative_to(SOURCES))
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                strings.append((f"{name}:{node.lineno}", node.value))
            elif isinstance(node, _Documented) and (text := ast.get_docstring(node)):
                docstrings.append((f"{name}:{node.body[0].lineno}", text))
    return docstrings, strings


def _prose(path: Path) -> str:
    """Return a document without code, tables, headings and addresses."""
    text = re.sub(r"(?ms)^\s*```.*?^\s*```$", "", path.read_text())
    lines = [line for line in text.splitlines() if not line.startswith(("|", "#", "    ", "       "))]
    return re.sub(r"`[^`]*`|\]\([^)]*\)|https?://\S+", "x", "\n".join(lines))


def _crowded(text: str) -> int:
    """Return the number of sentences with more than one colon or semicolon."""
    plain = re.sub(r"`[^`]*`", "x", text)
    sentences = re.split(r"(?<=[.!?])\s|\n\s*\n|\n\s*(?:[-*]|\d+\.) ", plain)
    return sum(len(re.findall(r"[:;](?=\s|$)", sentence)) > 1 for sentence in sentences)


def test_docstrings_start_with_a_verb_or_a_noun() -> None:
    assert [(place, text.splitlines()[0]) for place, text in _texts()[0] if OPENINGS.match(text)] == []


def test_old_words_are_gone_from_the_sources() -> None:
    assert [(place, found.group()) for place, text in _texts()[1] if (found := _OLD.search(text))] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_old_words_are_gone_from_documents(path: Path) -> None:
    assert [found.group() for found in _OLD.finditer(path.read_text())] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_lines_of_documents_fit(path: Path) -> None:
    """Rows of tables and lines of code cannot be broken."""
    text = re.sub(r"(?ms)^\s*```.*?^\s*```$", "", path.read_text())
    plain = [line for line in text.splitlines() if not line.startswith(("|", "    "))]
    assert [line for line in plain if len(line) > WIDTH] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_a_sentence_of_a_document_has_one_colon(path: Path) -> None:
    assert _crowded(_prose(path)) <= CROWDED_DOCUMENTS.get(path.name, 0)


def test_a_sentence_of_a_docstring_has_one_colon() -> None:
    crowded: dict[str, int] = {}
    for place, text in _texts()[0]:
        folder = place.partition("/")[0]
        crowded[folder] = crowded.get(folder, 0) + _crowded(text)
    assert {folder: many for folder, many in crowded.items() if many > CROWDED_DOCSTRINGS.get(folder, 0)} == {}
