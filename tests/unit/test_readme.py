"""The README stays short and leads to every page; the glossary is one line a word, in order."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text()
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md"))


def links(path: Path) -> list[str]:
    """Return the files that a page links to, without the places in them."""
    targets = re.findall(r"\]\(([^)\s]+)\)", path.read_text())
    return [target.partition("#")[0] for target in targets if not target.startswith(("http", "#"))]


def test_the_readme_is_short() -> None:
    lines = README.splitlines()
    assert len(lines) < 150
    assert [line for line in lines if len(line) > 120] == []


def test_the_readme_leads_to_every_page() -> None:
    assert [page for page in PAGES if f"({page})" not in README] == []


def test_links_of_pages_lead_somewhere() -> None:
    pages = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *(ROOT / page for page in PAGES)]
    dead = [f"{page.name}: {link}" for page in pages for link in links(page) if not (page.parent / link).exists()]
    assert dead == []


def test_the_glossary_has_thirty_words_in_order_a_line_each() -> None:
    entries = [line for line in GLOSSARY.splitlines()[3:] if line.strip()]
    words = [re.match(r"- \*\*(.+?)\*\*: [^.]+", line) for line in entries]
    names = [word[1] for word in words if word]
    assert len(names) == len(entries) == 30
    assert names == sorted(names, key=str.lower)
    assert [line for line in entries if len(line) > 120] == []
    assert "docs/glossary.md" in README and "docs/glossary.md" in (ROOT / "ARCHITECTURE.md").read_text()
