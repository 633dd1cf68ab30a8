"""Builds the page into src/tensorsleuth/ui/web/static, where its sources have changed: `python3 web/build.py`."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

WEB = Path(__file__).resolve().parent
STATIC = WEB.parent / "src" / "tensorsleuth" / "ui" / "web" / "static"
SINGLE = ("index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts")
NODE = 20
INSTALL = "Install Node.js 20 or newer with npm (apt-get install nodejs npm, or nodejs.org), then: make page"


class BuildError(Exception):
    """Why there is no page, and what to install."""


class RefusedLock(BuildError):
    """npm ci wants a lock file in which the packages of all platforms are."""


def build() -> Path:
    """The folder of the built page; nothing is run where it is up to date."""
    if is_fresh():
        return STATIC
    install()
    _npm("run", "build")
    _stamp().write_text(_digest(sources()))
    return STATIC


def install() -> None:
    """What the lock file says, where it is not the one that was installed."""
    ready, wanted = WEB / "node_modules" / ".ready", _digest([WEB / "package-lock.json"])
    if ready.is_file() and ready.read_text() == wanted:
        return
    try:
        _npm("ci", "--no-audit", "--no-fund")
    except (
        RefusedLock
    ):  # a registry that lacks what other platforms need: what is in the lock file is installed all the same
        _npm("install", "--no-save", "--no-audit", "--no-fund")
    ready.write_text(wanted)


def is_built() -> bool:
    return (STATIC / "index.html").is_file()


def is_fresh() -> bool:
    """Whether the page was built from these sources, to the byte; times say nothing after a checkout."""
    return is_built() and _stamp().is_file() and _stamp().read_text() == _digest(sources())


def sources() -> list[Path]:
    """All that the page is made of."""
    inside = [path for path in (WEB / "src").rglob("*") if path.is_file()]
    return sorted([*inside, *(WEB / name for name in SINGLE)])


def _stamp() -> Path:
    return STATIC / ".built"


def _digest(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for part in _parts(files):
        digest.update(part)
    return digest.hexdigest()


def _parts(files: list[Path]) -> Iterator[bytes]:
    for path in files:
        yield path.relative_to(WEB).as_posix().encode() + b"\0"
        yield path.read_bytes()


def _npm(*arguments: str) -> None:
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        raise BuildError(f"the page needs npm to be built, which is not on PATH. {INSTALL}")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version.lstrip("v").split(".")[0]) < NODE:
        raise BuildError(f"the page needs Node.js {NODE} to be built; there is {version}. {INSTALL}")
    done = subprocess.run([npm, *arguments], cwd=WEB, capture_output=True, text=True, check=False)
    if done.returncode:
        kind = RefusedLock if "EUSAGE" in done.stderr else BuildError
        raise kind(f"npm {arguments[0]} failed:\n{(done.stdout + done.stderr).strip()}")


if __name__ == "__main__":
    try:
        build()
    except BuildError as error:
        sys.exit(f"error: {error}")
