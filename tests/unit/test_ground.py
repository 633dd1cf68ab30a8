"""The ground the project stands on: who may import whom, and what its files must not say."""

from __future__ import annotations

import ast
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "tensorsleuth"

API = "the package itself"  # `import tensorsleuth`, as users do
EVERYTHING = {
    API,
    "model",
    "native",
    "trace",
    "capture",
    "integrations",
    "checks",
    "diagnose",
    "show",
    "guarding",
    "debugger",
    "breaking",
    "data",
    "checking",
    "watching",
    "memory",
    "page",
    "timing",
    "insight",
    "tokens",
}
MAY_IMPORT = {
    "model": set(),
    "native": {"model"},
    "trace": {"model"},
    "capture": {"model", "native", "trace"},
    "integrations": {"capture", "model", "trace", "diagnose", "debugger", "show"},
    "checks": {"model", "capture"},
    "data": {"model", "native", "capture", "checking", "show"},
    "tokens": {"model", "data", "checking"},
    "diagnose": {"model", "trace", "memory", "insight", "tokens"},
    "debugger": {"model", "trace", "diagnose"},
    "memory": {"model", "trace"},
    "timing": {"model", "trace"},
    "insight": {"model", "trace", "tokens"},
    "show": {"model", "diagnose", "debugger", "memory", "timing", "insight"},
    "checking": {"model", "native", "capture"},
    "page": {"model", "trace", "diagnose", "debugger", "show", "memory", "timing", "insight", "tokens"},
    "breaking": {"model", "native", "trace", "capture"},
    "watching": {"model", "native", "trace", "capture"},
    "guarding": {"model", "trace", "capture", "diagnose", "show"},
    "cli": EVERYTHING,
    "demo": {API},
    "inject": set(),
    API: EVERYTHING,
}
MAY_NOT_IMPORT = {"capture": re.compile(r"trace\..*reader"), "diagnose": re.compile(r"trace\..*writer")}
MAY_IMPORT_TENSORFLOW = {"native", "capture", "integrations", "checks", "data", "demo"}

MODULES = sorted(PACKAGE.rglob("*.py"))


def folder_of(module: Path) -> str:
    parts = module.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else API


def imported_names(module: Path) -> Iterator[str]:
    """The full name of everything a module imports, at its top or deeper."""
    package = ("tensorsleuth", *module.relative_to(PACKAGE).parent.parts)
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *filter(None, [node.module])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def imported_parts(module: Path) -> Iterator[str]:
    """What a module imports of this package, as `folder.module.name`, or `API`."""
    for name in imported_names(module):
        first, _, rest = name.partition(".")
        if first == "tensorsleuth":
            yield rest if rest.split(".")[0] in MAY_IMPORT else API


def test_every_folder_has_its_place() -> None:
    new = {folder_of(module) for module in MODULES} - set(MAY_IMPORT)
    assert not new, f"{new} are new: give each a row in MAY_IMPORT, and in ARCHITECTURE.md"


def test_imports_go_one_way() -> None:
    wrong = {str(module.relative_to(PACKAGE)): refused for module in MODULES if (refused := refused_imports(module))}
    assert not wrong, f"see MAY_IMPORT: {wrong}"


def refused_imports(module: Path) -> list[str]:
    folder = folder_of(module)
    allowed, never = MAY_IMPORT[folder] | {folder}, MAY_NOT_IMPORT.get(folder)
    parts = list(imported_parts(module))
    return [part for part in parts if part.split(".")[0] not in allowed or (never is not None and never.match(part))]


def test_tensorflow_is_imported_only_where_programs_are_watched() -> None:
    elsewhere = [module for module in MODULES if folder_of(module) not in MAY_IMPORT_TENSORFLOW]
    wrong = [
        f"{module.relative_to(PACKAGE)}: {name}"
        for module in elsewhere
        for name in imported_names(module)
        if name.split(".")[0] in ("tensorflow", "keras")
    ]
    assert not wrong, f"these must work where TensorFlow is not installed: {wrong}"


def project_files() -> list[Path]:
    """Every text file that is, or is about to be, under version control."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("not a git checkout")
    files = [ROOT / name for name in done.stdout.split("\0") if name]
    return [file for file in files if file.is_file() and b"\0" not in file.read_bytes()]


def lines_with(pattern: str) -> list[str]:
    found = re.compile(pattern)
    return [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for file in project_files()
        for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1)
        if found.search(line)
    ]


def test_no_file_names_a_path_of_one_machine() -> None:
    assert not lines_with(r"(?<![\w.*…])/(work|root|tmp/w|home/\w+)(/|\b)(?!\|)")


def test_no_file_names_a_package_registry() -> None:
    assert not lines_with(r"pythonhosted\.|pypi\.(org|python)|npmjs\.(org|com)|index[-]url")


def text_of(name: str) -> str:
    return (ROOT / name).read_text()


def test_tensorflow_is_never_a_dependency() -> None:
    dependencies = re.findall(r"^dependencies = \[(.*?)\]", text_of("pyproject.toml"), re.M | re.S)
    assert len(dependencies) == 1
    assert "numpy" in dependencies[0]
    assert "tensorflow" not in dependencies[0]


def test_the_readme_is_the_description_of_the_wheel() -> None:
    if (ROOT / "README.md").exists():
        assert 'readme = "README.md"' in text_of("pyproject.toml")


def test_the_command_exists() -> None:
    module, function = re.findall(r'^sleuth = "(.+):(.+)"', text_of("pyproject.toml"), re.M)[0]
    tree = ast.parse((ROOT / "src" / module.replace(".", "/")).with_suffix(".py").read_text())
    assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def make(*arguments: str) -> str:
    return subprocess.run(["make", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_make_lists_every_target() -> None:
    targets = re.findall(r"^\.PHONY: (.+)", text_of("Makefile"), re.M)[0].split()
    listed = set(re.findall(r"^ +make (\S+)", make(), re.M))
    assert listed == set(targets)


def test_ci_runs_make_test() -> None:
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert "make test" in text_of(".ci/run").splitlines()
    steps = make("--dry-run", "test")
    assert all(step in steps for step in ("ruff check", "ruff format --check", "mypy", "pytest"))
