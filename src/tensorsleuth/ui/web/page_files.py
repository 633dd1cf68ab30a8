"""The built page in memory. A file that is not in this dictionary cannot be requested."""

from __future__ import annotations

import mimetypes
from pathlib import Path
from typing import NamedTuple

from tensorsleuth.core.errors import SleuthError

STATIC = Path(__file__).absolute().parent / "static"
INDEX = "index.html"
HASHED_FOLDER = "assets/"  # Vite puts hashes into the names of these files


class PageFile(NamedTuple):
    body: bytes
    kind: str


def load(folder: Path = STATIC) -> dict[str, PageFile]:
    """Return the files of the page by their path."""
    if not (folder / INDEX).is_file():
        raise SleuthError(
            f"the page is not built: there is no {INDEX} in {folder}. In a checkout, build it: make page "
            "(needs Node.js 20 or newer with npm); a wheel made by `make wheel` has it."
        )
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): PageFile(path.read_bytes(), _kind(path)) for path in files}


def _kind(path: Path) -> str:
    """Return a file's type without this machine's tables: the browser refuses a script of another type."""
    known = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
    return known.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
