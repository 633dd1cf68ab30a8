"""Hooks of MkDocs: pages are written for GitHub, and lead to files that lie outside of docs/.

The pages on top of the repository (PROJECT) become pages of the site. Links to other files outside of docs/ lead to the
repository.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File
from tools import command_help
from tools.github_markdown import for_python_markdown

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PROJECT = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
HELP = "reference/commands.md"
REPOSITORY = "https://github.com/tensorsleuth/tensorsleuth/blob/main"
LINK = re.compile(r"(\]\()(?![a-z]+:|#)([^)\s#]+)((?:#[^)\s]*)?\))")


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
        return target  # --strict then reports it
    if path.is_relative_to(DOCS) and path.is_file():
        return os.path.relpath(path.relative_to(DOCS), shown)
    name = path.relative_to(ROOT).as_posix()
    if name == "README.md":
        return os.path.relpath("index.md", shown)
    return os.path.relpath(f"project/{name}", shown) if name in PROJECT else f"{REPOSITORY}/{name}"
