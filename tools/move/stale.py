"""Find what still names a module, a folder or a source by its old name, once everything was moved."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import layout

DOTTED = re.compile(r"\btensorsleuth((?:\.[A-Za-z_]\w*)+)")
PATH = re.compile(r"(?<![\w/.-])(?:src/)?(?:tensorsleuth/)?((?:[a-z_0-9]+/)+[a-z_0-9]+\.(?:py|cc|h|css))\b")
BARE = re.compile(r"(?<![\w/.*-])[a-z_0-9]+\.(?:py|cc|h)\b")
INCLUDE = re.compile(r'#include "([^"]+)"')
FLAT = re.compile(r"""SOURCES\.glob\(\s*["'][^"'/]*\.(?:cc|h)["']""")  # sources lie in folders now
QUOTED = re.compile(r"`([a-z_]\w*)`")


class Tree:
    """The names of files as they were and as they are."""

    def __init__(self, root: Path) -> None:
        self.root, self.package = root, root / "src/tensorsleuth"
        self.sources = self.package / "native/src"
        folders = {parent.as_posix() for old in layout.modules() for parent in Path(old.replace(".", "/")).parents} - {
            "."
        }
        here = {path.name for path in self.package.rglob("*") if path.is_dir()}
        self.gone = {folder.rsplit("/", 1)[-1] for folder in folders} - here - {"model"}  # a word of users
        self.gone |= {folder for folder in folders if "/" in folder and not (self.package / folder).is_dir()}
        self.old_paths = {old.replace(".", "/") + ".py" for old in layout.modules()}
        self.old_paths |= {f"native/src/{name}" for name in layout.native()} | {
            f"native/{name}" for name in layout.native()
        }
        self.old_paths |= {name.removeprefix("src/tensorsleuth/") for name in (*layout.FILES, *layout.TESTS)}
        tracked = [path for top in ("src", "tests", "bench", "web", "tools") for path in (root / top).rglob("*.*")]
        self.basenames = {path.name for path in tracked if "move" not in path.relative_to(root).parts}
        self.old_basenames = {path.rsplit("/", 1)[-1] for path in self.old_paths}
        modules = {old.rsplit(".", 1)[-1] for old in layout.modules()}
        self.gone_modules = modules - {path.stem for path in self.package.rglob("*.py")} - self.identifiers()
        self.gone_modules |= {"capture", "checking", "guarding", "breaking", "watching", "insight", "timing"}
        self.folder = re.compile(rf"(?<![\w/.-])(?:src/)?(?:tensorsleuth/)?(?:{'|'.join(sorted(self.gone))})/")

    def identifiers(self) -> set[str]:
        """Every name in the code: what is quoted may be one of these."""
        found = set()
        for path in (*self.package.rglob("*.py"), *(self.root / "tests").rglob("*.py")):
            tokens = tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
            found |= {token.string for token in tokens if token.type == tokenize.NAME}
        return found

    def leads(self, parts: list[str]) -> bool:
        """Whether a dotted name leads to a module, to a package or to something in either."""
        place = self.package
        for part in parts:
            if part.startswith("__"):
                return True
            if (place / part).is_dir():
                place = place / part
            else:
                init = place / "__init__.py"
                in_package = init.exists() and re.search(rf"\b{part}\b", init.read_text()) is not None
                return (place / f"{part}.py").is_file() or in_package
        return True

    def exists(self, name: str, near: Path) -> bool:
        places = (self.root, self.package, self.package / "native", self.sources, near.parent, self.root / "src")
        return any((place / name).exists() for place in places)


def names(root: Path, texts: Iterable[Path]) -> list[str]:
    """`file:line: what is stale`."""
    tree = Tree(root)
    found = []
    for path in texts:
        relative = path.relative_to(root).as_posix()
        for number, line in enumerate(path.read_text().splitlines(), 1):
            found += [
                f"{relative}:{number}: {name}" for name in _in_line(tree, path, line) if (relative, name) not in MEANT
            ]
    return found


def _in_line(tree: Tree, path: Path, line: str) -> Iterator[str]:
    yield from _hits(DOTTED, line, lambda match: not tree.leads(match.group(1)[1:].split(".")))
    yield from _hits(
        PATH, line, lambda match: match.group(1) in tree.old_paths and not tree.exists(match.group(1), path)
    )
    yield from _hits(tree.folder, line, lambda match: True)
    yield from _hits(BARE, line, lambda match: match.group(0) in tree.old_basenames - tree.basenames)
    yield from _hits(FLAT, line, lambda match: path.suffix == ".py")
    yield from _hits(QUOTED, line, lambda match: match.group(1) in tree.gone_modules)
    if path.suffix in (".cc", ".h"):
        yield from _hits(INCLUDE, line, lambda match: not tree.exists(match.group(1), path))


def _hits(pattern: re.Pattern[str], line: str, wrong: Callable[[re.Match[str]], bool]) -> Iterator[str]:
    yield from (match.group(0) for match in pattern.finditer(line) if wrong(match))


def stands(name: str, text: str) -> bool:
    return any(match.group(0) == name for match in BARE.finditer(text))


# Looks stale, and is not: (file, name).
MEANT = {
    ("tests/unit/test_api.py", "tensorsleuth.recrod"),
}
