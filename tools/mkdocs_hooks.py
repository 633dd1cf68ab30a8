"""Hooks of MkDocs: pages are written for GitHub, and lead to files that lie outside of docs/.

The pages on top of the repository (PROJECT) become pages of the site. Links to other files outside of docs/ lead to the
repository. MkDocs reads Markdown more strictly than GitHub does, so `for_python_markdown` adds what it needs.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File
from tools import command_help

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PROJECT = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
HELP = "reference/commands.md"
REPOSITORY = "https://github.com/tensorsleuth/tensorsleuth/blob/main"
LINK = re.compile(r"(\]\()(?![a-z]+:|#)([^)\s#]+)((?:#[^)\s]*)?\))")
FENCE = re.compile(r" *(```|~~~)")
ITEM = re.compile(r"([-*+]|\d+\.) ")
CODE = re.compile(r"`[^`]+`")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that lie on top of the repository, and the help of the commands."""
    for name in PROJECT:
        files.append(File.generated(config, f"project/{name}", abs_src_path=str(ROOT / name)))
    files.append(File.generated(config, HELP, content=command_help.page()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Return what MkDocs is to make a page of."""
    written = Path(page.file.abs_src_path or DOCS / page.file.src_uri)
    shown = Path(page.file.src_uri).parent
    return for_python_markdown(LINK.sub(lambda link: link[1] + lead(link[2], written, shown) + link[3], markdown))


def lead(target: str, written: Path, shown: Path) -> str:
    """Return where a link of the file `written` leads from a page in the folder `shown` of the site."""
    path = Path(os.path.normpath(written.parent / target))
    if not path.exists() or not path.is_relative_to(ROOT):
        return target  # which --strict complains about
    if path.is_relative_to(DOCS) and path.is_file():
        return os.path.relpath(path.relative_to(DOCS), shown)
    name = path.relative_to(ROOT).as_posix()
    if name == "README.md":
        return os.path.relpath("index.md", shown)
    return os.path.relpath(f"project/{name}", shown) if name in PROJECT else f"{REPOSITORY}/{name}"


def for_python_markdown(text: str) -> str:
    """Put a blank line before lists and tables that follow a paragraph, and no backslash before a pipe in code."""
    lines: list[str] = []
    is_fenced = is_paragraph = False
    for line in text.splitlines():
        is_fence = FENCE.match(line) is not None
        if is_fence or is_fenced:
            lines.append(line)
            is_fenced, is_paragraph = is_fenced != is_fence, False
            continue
        is_table, is_item = line.startswith("|"), ITEM.match(line) is not None
        if is_paragraph and (is_table or is_item):
            lines.append("")
        lines.append(CODE.sub(lambda code: code[0].replace("\\|", "|"), line) if is_table else line)
        starts = not (is_table or is_item) and re.match(r"[^\s#]", line) is not None
        is_paragraph = starts and (is_paragraph or not lines[:-1] or _ends_block(lines[-2]))
    return "\n".join(lines) + "\n"


def _ends_block(line: str) -> bool:
    return not line.strip() or line.startswith(("#", "```", "|"))
