"""Move every module to its room, and rewrite all that names it. README.md says how to run it.

In order: git mv; imports (LibCST); names of modules in strings, comments and docs; paths; C++ includes; the edits of
edits.py (each has to be found exactly once); ruff and clang-format; a search for names that no longer lead anywhere.
It stops at the first thing that it does not understand.
"""

from __future__ import annotations

import hashlib
import io
import re
import shutil
import subprocess
import sys
import tokenize
from collections import defaultdict
from fnmatch import fnmatch
from pathlib import Path

import edits
import layout
import libcst as cst
import stale

HERE = Path(__file__).resolve().parent
ROOT = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else HERE.parents[1]
PACKAGE = ROOT / "src/tensorsleuth"
PREFIX = "tensorsleuth."

MODULES = {PREFIX + old: PREFIX + new for old, new in layout.modules().items()}
PACKAGES = {PREFIX + old: PREFIX + new for old, new in layout.packages().items() if old}
NATIVE = layout.native()
# Modules whose local name stays: `from … import internals as tf` reads better than `internals.x`.
KEEP_ALIAS = {
    "tensorsleuth.capture.tf",
    "tensorsleuth.capture.tf_variables",
    "tensorsleuth.capture.tf_sessions",
    "tensorsleuth.capture.keras",
    "tensorsleuth.capture.keras_patches",
    "tensorsleuth.debugger.live",
    "tensorsleuth.model.ops",
    "tensorsleuth.cli.settings",
}
# (old module, name) -> new module of that name
SYMBOLS = {(PREFIX + old, name): PREFIX + new for (old, name), new in edits.SYMBOLS.items()}
ALIASES: list[str] = []  # imports that keep the old name of a module: the new one means something else in the file
UNCLEAR: list[tuple[Path, str]] = []  # a file, and the name of a file in it that several modules had


def tool(name: str) -> str:
    """A program of the clone's environment, else of the PATH."""
    own = ROOT / ".venv/bin" / name
    found = str(own) if own.exists() else shutil.which(name)
    if found is None:
        raise SystemExit(f"{name} is missing: make venv, or put it on the PATH")
    return found


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def path_of(module: str) -> Path:
    return PACKAGE.parent / Path(*module.split(".")).with_suffix(".py")


# ---------------------------------------------------------------- moving


def move_files() -> None:
    moves: list[tuple[Path, Path]] = []
    init_modules = {PREFIX + old.replace("/", ".") for old in layout.INIT_TO_MODULE.values()}
    for old, new in MODULES.items():
        source = path_of(old).with_suffix("") / "__init__.py" if old in init_modules else path_of(old)
        moves.append((source, path_of(new)))
    for new, old in layout.INITS.items():
        if old != new:
            moves.append((PACKAGE / old / "__init__.py", PACKAGE / new / "__init__.py"))
    moves += [(ROOT / old, ROOT / new) for old, new in layout.FILES.items()]
    moves += [(ROOT / old, ROOT / new) for old, new in layout.TESTS.items()]
    sources = PACKAGE / "native/src"
    moves += [(sources / old, sources / new) for old, new in NATIVE.items()]
    kept = set(PACKAGE.rglob("__init__.py"))
    # Two steps: the place of one may be that of another that has not gone yet.
    moves = [(old, new) for old, new in moves if old != new]
    for old, new in moves:
        target = new.with_name(new.name + ".moving")
        target.parent.mkdir(parents=True, exist_ok=True)
        git("mv", str(old), str(target))
    moved = {old for old, _ in moves}
    wanted = {PACKAGE / folder / "__init__.py" for folder in layout.INITS}
    for path in kept - moved - wanted:
        git("rm", "-qf", str(path))
    for _, new in moves:
        git("mv", str(new.with_name(new.name + ".moving")), str(new))
    for folder in layout.PYTHON:
        for place in [Path(folder), *Path(folder).parents]:
            init = PACKAGE / place / "__init__.py"
            if place.as_posix() not in layout.NO_INIT and not init.exists():
                init.write_text("")
                git("add", str(init))
    (PACKAGE / "core/array.py").write_text(layout.ARRAY)
    git("add", "src/tensorsleuth/core/array.py")
    for folder in sorted(PACKAGE.rglob("*"), reverse=True):  # what is left of old folders: caches
        if folder.is_dir() and folder.name == "__pycache__":
            subprocess.run(["rm", "-rf", str(folder)], check=True)
        elif folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


# ---------------------------------------------------------------- imports


def dotted(node: cst.BaseExpression | None) -> str:
    if node is None:
        return ""
    if isinstance(node, cst.Name):
        return node.value
    assert isinstance(node, cst.Attribute)
    return f"{dotted(node.value)}.{node.attr.value}"


def expression(name: str) -> cst.Name | cst.Attribute:
    first, *rest = name.split(".")
    node: cst.Name | cst.Attribute = cst.Name(first)
    for part in rest:
        node = cst.Attribute(node, cst.Name(part))
    return node


class Names(cst.CSTVisitor):
    """What a file binds, and all names in it."""

    def __init__(self) -> None:
        self.bound: set[str] = set()
        self.all: set[str] = set()

    def visit_Name(self, node: cst.Name) -> None:
        self.all.add(node.value)

    def visit_Param(self, node: cst.Param) -> None:
        self.bound.add(node.name.value)

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        self._targets(node.target)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        self._targets(node.target)

    def visit_NamedExpr(self, node: cst.NamedExpr) -> None:
        self._targets(node.target)

    def visit_For(self, node: cst.For) -> None:
        self._targets(node.target)

    def visit_CompFor(self, node: cst.CompFor) -> None:
        self._targets(node.target)

    def visit_AsName(self, node: cst.AsName) -> None:
        self._targets(node.name)

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self.bound.add(node.name.value)

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self.bound.add(node.name.value)

    def _targets(self, node: cst.CSTNode) -> None:
        if isinstance(node, cst.Name):
            self.bound.add(node.value)
        elif isinstance(node, (cst.Tuple, cst.List)):
            for element in node.elements:
                self._targets(element.value)


class Imports(cst.CSTTransformer):
    """Rewrites imports; notes which local names of modules change with them."""

    def __init__(self, path: Path, names: Names) -> None:
        self.path = path
        self.names = names
        self.renames: dict[str, str] = {}

    def leave_SimpleStatementLine(self, original: cst.SimpleStatementLine, updated: cst.SimpleStatementLine):  # type: ignore
        if len(updated.body) != 1:
            return updated
        (small,) = updated.body
        if isinstance(small, cst.ImportFrom):
            assert not small.relative, f"{self.path}: a relative import"
            return self._from(updated, small)
        if isinstance(small, cst.Import):
            aliases = [alias.with_changes(name=expression(moved(dotted(alias.name)))) for alias in small.names]
            return updated.with_changes(body=[small.with_changes(names=aliases)])
        return updated

    def _from(self, line: cst.SimpleStatementLine, small: cst.ImportFrom):  # type: ignore
        base = dotted(small.module)
        if not (base + ".").startswith(PREFIX) or isinstance(small.names, cst.ImportStar):
            return line
        groups: dict[str, list[cst.ImportAlias]] = defaultdict(list)
        for alias in small.names:
            home, new = self._place(base, alias)
            groups[home].append(new)
        if list(groups) == [base] and groups[base] == list(small.names):
            return line
        lines = []
        for home, aliases in groups.items():
            last = aliases[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
            statement = small.with_changes(module=expression(home), names=[*aliases[:-1], last])
            lines.append(line.with_changes(body=[statement], leading_lines=line.leading_lines if not lines else []))
        return cst.FlattenSentinel(lines)

    def _place(self, base: str, alias: cst.ImportAlias) -> tuple[str, cst.ImportAlias]:
        name = dotted(alias.name)
        whole = f"{base}.{name}"
        if (base, name) in SYMBOLS:
            return SYMBOLS[base, name], alias
        if whole in MODULES or whole in PACKAGES:
            new = MODULES.get(whole) or PACKAGES[whole]
            home, _, last = new.rpartition(".")
            if last == name:
                return home, alias
            if alias.asname is not None:
                if dotted(alias.asname.name) == last:
                    return home, alias.with_changes(name=cst.Name(last), asname=None)
                return home, alias.with_changes(name=cst.Name(last))
            if whole not in KEEP_ALIAS and name not in self.names.bound and last not in self.names.all:
                self.renames[name] = last
                self.names.all.add(last)
                return home, alias.with_changes(name=cst.Name(last))
            if whole not in KEEP_ALIAS:
                why = f"{name} is bound in the file" if name in self.names.bound else f"{last} is used in the file"
                ALIASES.append(f"{self.path.relative_to(ROOT)}: {last} as {name} ({why})")
            return home, alias.with_changes(name=cst.Name(last), asname=cst.AsName(cst.Name(name)))
        return moved(base), alias


class Locals(cst.CSTTransformer):
    """Gives modules their new names where they are used."""

    def __init__(self, renames: dict[str, str]) -> None:
        self.renames = renames

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        return False

    def leave_Attribute(self, original: cst.Attribute, updated: cst.Attribute) -> cst.Attribute:
        return updated.with_changes(attr=original.attr)

    def leave_Arg(self, original: cst.Arg, updated: cst.Arg) -> cst.Arg:
        return updated.with_changes(keyword=original.keyword)

    def leave_Name(self, original: cst.Name, updated: cst.Name) -> cst.Name:
        new = self.renames.get(original.value)
        return updated.with_changes(value=new) if new else updated


class FullNames(cst.CSTTransformer):
    """`tensorsleuth.capture.api._active` in code, after `import tensorsleuth`."""

    def visit_Import(self, node: cst.Import) -> bool:
        return False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        return False

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        return not is_full_name(node)  # as a whole, or not at all

    def leave_Attribute(self, original: cst.Attribute, updated: cst.Attribute) -> cst.BaseExpression:
        return expression(moved(dotted(original))) if is_full_name(original) else updated


def is_full_name(node: cst.BaseExpression) -> bool:
    while isinstance(node, cst.Attribute):
        node = node.value
    return isinstance(node, cst.Name) and node.value == "tensorsleuth"


def moved(name: str) -> str:
    """A dotted name as it is now: of a module, of a package, of something in either."""
    parts = name.split(".")
    for length in range(len(parts), 1, -1):
        front = ".".join(parts[:length])
        new = MODULES.get(front) or PACKAGES.get(front)
        if new is not None:
            return ".".join([new, *parts[length:]])
    return name


def rewrite_imports(path: Path) -> None:
    text = path.read_text()
    if "tensorsleuth" not in text:
        return
    tree = cst.parse_module(text)
    names = Names()
    tree.visit(names)
    imports = Imports(path, names)
    tree = tree.visit(imports)
    if imports.renames:
        tree = tree.visit(Locals(imports.renames))
    tree = tree.visit(FullNames())
    if tree.code != text:
        path.write_text(tree.code)


# ---------------------------------------------------------------- names in texts

DOTTED = re.compile(r"\btensorsleuth((?:\.[a-z_][a-z_0-9]*)+)")
OLD_PATHS: dict[str, str] = {}
for _old, _new in MODULES.items():
    OLD_PATHS["/".join(_old.split(".")[1:]) + ".py"] = "/".join(_new.split(".")[1:]) + ".py"
for _old, _new in NATIVE.items():
    OLD_PATHS[f"native/src/{_old}"] = f"native/src/{_new}"
    OLD_PATHS[f"native/{_old}"] = f"native/src/{_new}"  # ARCHITECTURE.md leaves out src/
for _old, _new in layout.FILES.items():
    OLD_PATHS[_old.removeprefix("src/tensorsleuth/")] = _new.removeprefix("src/tensorsleuth/")
PATHS = re.compile(r"(?<![\w/.])((?:src/)?tensorsleuth/)?((?:[a-z_0-9]+/)+[a-z_0-9]+\.(?:py|cc|h|css))\b")
INCLUDE = re.compile(r'(#include ")([a-z_0-9]+\.h)(")')
TEST_NAMES = {Path(old).stem: Path(new).stem for old, new in layout.TESTS.items()}


STATEMENT = re.compile(r"\bfrom (tensorsleuth[\w.]*) import (\w+(?: as \w+)?(?:, \w+(?: as \w+)?)*)")


def statement(match: re.Match[str]) -> str:
    """An import in the text of a program that a test runs: one line stays one line."""
    tree = cst.parse_module(match.group(0) + "\n")
    names = Names()
    names.bound = {alias.split(" as ")[0] for alias in match.group(2).split(", ")}  # local names stay
    lines = tree.visit(Imports(ROOT, names)).code.strip().splitlines()
    return "; ".join(lines)


def in_words(text: str) -> str:
    """Dotted names, paths and includes."""
    placed: list[str] = []

    def keep(match: re.Match[str]) -> str:
        placed.append(statement(match))
        return f"\0{len(placed) - 1}\0"

    text = STATEMENT.sub(keep, text)
    text = DOTTED.sub(lambda match: moved(match.group(0)), text)
    text = re.sub("\0(\\d+)\0", lambda match: placed[int(match.group(1))], text)
    text = PATHS.sub(lambda match: (match.group(1) or "") + OLD_PATHS.get(match.group(2), match.group(2)), text)
    text = text.replace(f"tensorsleuth/{layout.STATIC[0]}", f"tensorsleuth/{layout.STATIC[1]}")
    text = INCLUDE.sub(lambda match: match.group(1) + NATIVE.get(match.group(2), match.group(2)) + match.group(3), text)
    return re.sub(
        r"\btests/(unit|compat)/(\w+)\.py\b", lambda match: layout.TESTS.get(match.group(0), match.group(0)), text
    )


def rewrite_text(path: Path) -> None:
    """Names of modules and files, wherever they stand: of Python, in strings and comments; of others, everywhere."""
    text = before = path.read_text()
    text = in_strings(text) if path.suffix == ".py" else in_words(text)
    if path.suffix == ".py":
        text = re.sub(
            r"\b(tests\.(?:unit|compat)\.)(\w+)\b",
            lambda match: match.group(1) + TEST_NAMES.get(match.group(2), match.group(2)),
            text,
        )
    if text != before:
        path.write_text(text)


def in_strings(text: str) -> str:
    """Strings and comments of Python, of which code is left as it is: imports were rewritten already."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    parts, at = [], 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.STRING, tokenize.COMMENT):
            begin = starts[token.start[0] - 1] + token.start[1]
            end = starts[token.end[0] - 1] + token.end[1]
            parts += [text[at:begin], in_words(as_source(text[begin:end]))]
            at = end
    return "".join([*parts, text[at:]])


def as_source(literal: str) -> str:
    """`"ring.cc"` or `"health*.cc"` as the name of a file in native/src, where sources have folders now."""
    name = literal.strip("\"'")
    places = {Path(new).parent.as_posix() for old, new in NATIVE.items() if fnmatch(old, name)}
    if not re.fullmatch(r"[a-z_0-9*]+\.(?:cc|h)", name) or len(places) != 1:
        return literal
    return literal.replace(name, (Path(*places) / Path(NATIVE.get(name, name)).name).as_posix())


OLD_BASENAMES: dict[str, set[str]] = defaultdict(set)
for _old, _new in OLD_PATHS.items():
    OLD_BASENAMES[_old.rsplit("/", 1)[-1]].add(_new)


def rewrite_bare(path: Path) -> None:
    """`births.py` without a folder: where only one file had that name. The others are reported."""
    text = path.read_text()
    new_names = {one.rsplit("/", 1)[-1] for places in OLD_BASENAMES.values() for one in places}

    def place(match: re.Match[str]) -> str:
        name = match.group(0)
        places = OLD_BASENAMES.get(name)
        if not places or (len(places) == 1 and next(iter(places)).endswith("/" + name)):
            return name
        if len(places) == 1 and name not in new_names:
            return next(iter(places)).rsplit("/", 1)[-1]
        if not all(one.endswith("/" + name) for one in places):
            UNCLEAR.append((path, name))
        return name

    after = re.sub(r"(?<![\w/.*])[a-z_0-9]+\.(?:py|cc|h)\b", place, text)
    if after != text:
        path.write_text(after)


def apply_edits() -> None:
    for name, pairs in edits.EDITS.items():
        path = ROOT / name
        if not path.exists():
            raise SystemExit(f"edits.py, {name}: there is no such file")
        text = path.read_text()
        for old, new in pairs:
            if text.count(old) != 1:
                raise SystemExit(f"edits.py, {name}: found {text.count(old)} times, not once: {old!r}")
            text = text.replace(old, new)
        path.write_text(text)
    for block in edits.BLOCKS:
        replace_block(block)
    for name, new in edits.NEW_FILES.items():
        if (ROOT / name).exists():
            raise SystemExit(f"edits.py, {name}: is there already")
        (ROOT / name).write_text(new)
        git("add", name)


def replace_block(block: edits.Block) -> None:
    """Put a text that was written by hand in place of another, of which nobody may have changed a letter since."""
    path = ROOT / block.file
    text = path.read_text()
    if text.count(block.first) != 1 or text.count(block.last) != 1:
        raise SystemExit(f"edits.py, {block.file}: no text from {block.first!r} to {block.last!r}")
    begin, end = text.index(block.first), text.index(block.last) + len(block.last)
    found = hashlib.sha256(text[begin:end].encode()).hexdigest()[:16]
    if found != block.digest:
        raise SystemExit(
            f"edits.py, {block.file}: the text from {block.first!r} on has changed (now {found}). "
            "Take over what is new in it, then write down the new digest."
        )
    path.write_text(text[:begin] + block.text + text[end:])


def texts() -> list[Path]:
    """The text files of the project that may name a module; not this folder, nor the programs that tests record."""
    listed = [ROOT / name for name in git("ls-files", "-z").split("\0") if name]
    good = (".py", ".md", ".cc", ".h", ".toml", ".ts", ".tsx", ".js", ".json", ".css", ".html", ".sh", ".yml", ".supp")
    names = ("Makefile", ".gitignore", "run", ".clang-format", ".editorconfig")
    skipped = ("tests/programs/", "web/package-lock.json", "tools/move/")
    kept = ("tests/programs/test_", "tests/programs/score")
    return [
        path
        for path in listed
        if path.is_file() and (path.suffix in good or path.name in names)
        if not (name := path.relative_to(ROOT).as_posix()).startswith(skipped) or name.startswith(kept)
    ]


def tidy() -> None:
    ruff, clang_format = tool("ruff"), tool("clang-format")
    cpp = [str(path) for top in ("src", "tests") for end in ("cc", "h") for path in (ROOT / top).rglob(f"*.{end}")]
    for command in (
        [ruff, "check", "--fix", "--quiet", "--exit-zero"],
        [ruff, "format", "--quiet"],
        [clang_format, "-i", *cpp],
        [ruff, "check"],
    ):
        if subprocess.run(command, cwd=ROOT, check=False).returncode:
            raise SystemExit(f"{' '.join(command[:3])} is not content: add edits to edits.py")


def main() -> None:
    problems = layout.check(ROOT)
    if problems:
        raise SystemExit("\n".join(problems))
    if git("status", "--porcelain", "--untracked-files=no").strip():
        raise SystemExit("the clone has changes: git stash, or clone anew")
    move_files()
    python = [path for path in texts() if path.suffix == ".py"]
    for path in python:
        rewrite_imports(path)
    for path in texts():
        rewrite_text(path)
        if path.suffix in (".py", ".cc", ".h", ".md") and path.name != "CHANGELOG.md":
            rewrite_bare(path)
    apply_edits()
    tidy()
    git("add", "-u")
    print("\n".join(ALIASES))
    wrong = stale.names(ROOT, texts()) + [
        f"{path.relative_to(ROOT)}: which {name}?" for path, name in UNCLEAR if stale.stands(name, path.read_text())
    ]
    if wrong:
        raise SystemExit("\n".join(["These lead nowhere now; add edits to edits.py:", *sorted(set(wrong))]))


if __name__ == "__main__":
    main()
