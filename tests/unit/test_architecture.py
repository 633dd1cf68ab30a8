"""The architecture, held: which folder may import which, how full a folder may be, what files must not say."""

from __future__ import annotations

import ast
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.op_lists import OPS_TABLE, known_ops, listed_ops

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "tensorsleuth"

API = "tensorsleuth"  # `import tensorsleuth`, with `tensorsleuth.keras` and `tensorsleuth.hooks`
# Lowest first. A folder may import itself and the folders before it. A folder without an entry belongs to the nearest
# folder above it that has one.
LAYERS = (
    "core",
    "native",
    "trace/storage",
    "trace/process",
    "trace/series",
    "trace/dataflow",
    "trace/query",
    "trace",
    "recording",
    "data",
    "analyze",
    "diagnose",
    "ui/terminal",
    "ui/debugger",
    "ui/tui",
    "ui/web",
    "live",
    "integrations",
    API,
    "demo",
    "inject",
    "cli",
)
# A recorded program opens no reader, and code that reads a trace never writes to it.
FORBIDDEN = {"recording": r"trace/.*reader", "diagnose": r"trace/.*writer"}
MAY_IMPORT_TENSORFLOW = {"native", "recording", "data", "integrations", "demo"}
CHANGES_TENSORFLOW = "recording/tensorflow"
CHANGES_THE_IMPORT_OF_TENSORFLOW = "live/startup/autostart"  # there TensorFlow is not loaded yet
PRIVATE_PARTS = ("tensorsleuth.recording.tensorflow.", "tensorsleuth.recording.keras.internals")
MOST_MODULES = 18  # in a folder

MODULES = sorted(PACKAGE.rglob("*.py"))
FOLDERS = sorted({module.parent for module in MODULES})


def name_of(module: Path) -> str:
    """`trace/query/ops`, or `trace/query` for its `__init__`; what lies on top belongs to `API`."""
    path = module.relative_to(PACKAGE).with_suffix("")
    name = (path.parent if path.name == "__init__" else path).as_posix()
    return name if "/" in name or module.parent != PACKAGE else API


def layer_of(name: str) -> int:
    """The place in LAYERS of the longest front of a name that has one."""
    fronts = [name, *(parent.as_posix() for parent in Path(name).parents)]
    return next((LAYERS.index(front) for front in fronts if front in LAYERS), -1)


def imports(module: Path) -> Iterator[tuple[int, str]]:
    """Everything that a module imports, with the line."""
    yield from imports_in(ast.parse(module.read_text()), ("tensorsleuth", *module.relative_to(PACKAGE).parent.parts))


def imports_in(tree: ast.Module, package: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Imports at the top of a module or deeper, by a statement or by name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *filter(None, [node.module])])
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
    yield from imports_by_name(tree)


def imports_by_name(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Names given to `import_module`. Where it is called with a variable, every name of ours in the file counts."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _imports(node.func)]
    given = [call.args[0] for call in calls if call.args]
    for name in given:
        yield from ((name.lineno, text) for text in _beginning(name))
    if any(not isinstance(node, (ast.Constant, ast.JoinedStr)) for node in given):
        not_imported = set(_names_of_classes(tree)) | set(_programs(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and node not in not_imported and _is_of_ours(node.value):
                yield node.lineno, str(node.value)


def _is_of_ours(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"tensorsleuth(\.\w+)+", value) is not None


def _imports(function: ast.expr) -> bool:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in ("import_module", "__import__", "resolve_name", "run_module")


def _beginning(node: ast.expr) -> Iterator[str]:
    first = node.values[0] if isinstance(node, ast.JoinedStr) and node.values else node
    if isinstance(first, ast.Constant) and isinstance(first.value, str):
        yield first.value.rstrip(".")


def _names_of_classes(tree: ast.Module) -> Iterator[ast.AST]:
    """`Expect.__module__ = "tensorsleuth.keras"` imports nothing."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and "__module__" in ast.unparse(node.targets[0]):
            yield from ast.walk(node.value)


def _programs(tree: ast.Module) -> Iterator[ast.AST]:
    """`python -m tensorsleuth.cli.main` is another process."""
    for node in ast.walk(tree):
        if isinstance(node, ast.List):
            pairs = zip(node.elts, node.elts[1:])
            yield from (name for flag, name in pairs if isinstance(flag, ast.Constant) and flag.value == "-m")


def imported(module: Path) -> Iterator[tuple[int, str]]:
    """Return the imports of this package in a module, as `name_of` has it, with the line."""
    for line, name in imports(module):
        first, *rest = name.split(".")
        if first == "tensorsleuth":
            yield line, _existing(rest)


def _existing(parts: list[str]) -> str:
    """The module or folder in which a name stands: `trace/query/ops` for `trace.query.ops.Op`."""
    for length in range(len(parts), 0, -1):
        path = PACKAGE.joinpath(*parts[:length])
        if path.is_dir() or path.with_suffix(".py").is_file():
            return name_of(path.with_suffix(".py")) if not path.is_dir() else "/".join(parts[:length])
    return API


def test_every_folder_has_a_layer() -> None:
    folders = {folder.relative_to(PACKAGE).as_posix() for folder in FOLDERS} - {"."}
    assert not [name for name in folders if layer_of(name) < 0 and any((PACKAGE / name).glob("[!_]*.py"))]
    assert not [layer for layer in LAYERS if layer != API and not (PACKAGE / layer).is_dir()]


def test_imports_go_down() -> None:
    wrong = {name_of(module): upward for module in MODULES if (upward := upward_imports(module))}
    assert not wrong, f"these import what stands above them in LAYERS: {wrong}"


def upward_imports(module: Path) -> list[tuple[int, str]]:
    own = layer_of(name_of(module))
    return [(line, name) for line, name in imported(module) if layer_of(name) > own]


def test_readers_and_writers_are_apart() -> None:
    wrong = [
        f"{name_of(module)}:{line}: {name}"
        for module in MODULES
        if (forbidden := FORBIDDEN.get(name_of(module).split("/")[0]))
        for line, name in imported(module)
        if re.match(forbidden, name)
    ]
    assert not wrong


def test_tensorflow_is_imported_only_where_programs_are_watched() -> None:
    elsewhere = [module for module in MODULES if name_of(module).split("/")[0] not in MAY_IMPORT_TENSORFLOW]
    wrong = [
        f"{module.relative_to(PACKAGE)}:{line}: {name}"
        for module in elsewhere
        for line, name in imports(module)
        if name.split(".")[0] in ("tensorflow", "keras")
    ]
    assert not wrong, f"these must work where TensorFlow is not installed: {wrong}"


def test_a_running_tensorflow_is_changed_in_one_room_only() -> None:
    allowed = (CHANGES_TENSORFLOW + "/", CHANGES_THE_IMPORT_OF_TENSORFLOW)
    wrong = [
        f"{name_of(module)}:{line}: {text}"
        for module in MODULES
        if not name_of(module).startswith(allowed)
        for line, text in changes_of_tensorflow(ast.parse(module.read_text()))
    ]
    assert not wrong, f"let {CHANGES_TENSORFLOW}/patches.py do this: {wrong}"


def changes_of_tensorflow(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Attributes of TensorFlow or Keras that a module sets or deletes, by a statement, by name or by `Patches`."""
    foreign = set(_names_of_tensorflow(tree))
    for node in ast.walk(tree):
        is_set = isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load) and _root(node) in foreign
        if isinstance(node, ast.expr) and (is_set or (isinstance(node, ast.Call) and _sets_attribute(node))):
            yield node.lineno, ast.unparse(node)


def _names_of_tensorflow(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            above = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                full = above + alias.name
                if full.split(".")[0] in ("tensorflow", "keras", "tf_keras") or full.startswith(PRIVATE_PARTS):
                    yield (alias.asname or alias.name).split(".")[0]


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _sets_attribute(call: ast.Call) -> bool:
    """`setattr(owner, …)` of anything but `self`, or `patches.replace(owner, "name", new)`; not `text.replace`."""
    if isinstance(call.func, ast.Name) and call.func.id in ("setattr", "delattr"):
        return _root(call.args[0]) != "self"
    is_replace = isinstance(call.func, ast.Attribute) and call.func.attr == "replace" and len(call.args) == 3
    return is_replace and isinstance(call.args[1], ast.Constant) and isinstance(call.args[1].value, str)


@pytest.mark.parametrize(
    "text",
    [
        "import tensorflow as tf\ntf.Tensor.numpy = None",
        "from tensorflow.python.eager import context\ncontext.context().x = 1",
        "from keras.src import backend\ndel backend.name",
        "from tensorsleuth.recording.tensorflow import internals as tf\ntf.ops.flag |= {1}",
        "from tensorsleuth.recording.keras.internals import scope_owner\nscope_owner.x = 1",
        "setattr(owner, 'call', new)",
        "patches.replace(owner, 'call', new)",
    ],
)
def test_a_change_of_tensorflow_is_seen_however_it_is_written(text: str) -> None:
    assert [*changes_of_tensorflow(ast.parse(text))]


def test_no_folder_is_too_full() -> None:
    counts = {folder: len([*folder.glob("[!_]*.py")]) for folder in FOLDERS}
    full = {str(folder.relative_to(PACKAGE)): count for folder, count in counts.items() if count > MOST_MODULES}
    assert not full, f"look for the second idea in each of these folders: {full}"


def test_architecture_names_every_folder() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    tops = {folder.relative_to(PACKAGE).parts[0] for folder in FOLDERS if folder != PACKAGE}
    assert not [top for top in sorted(tops) if f"`{top}/" not in text]


def test_ops_are_known_by_name_in_one_place() -> None:
    elsewhere = [module for module in MODULES if module.parent != OPS_TABLE]
    wrong = [
        f"{name_of(module)}:{line}: {', '.join(sorted(names))}"
        for module in elsewhere
        for line, names in listed_ops(ast.parse(module.read_text()), known_ops())
    ]
    assert not wrong, f"name these sets in core/ops, for what the ops do: {wrong}"


@pytest.mark.parametrize(
    "text",
    [
        'OPS = ("MatMul", "Einsum")',
        'OPS: frozenset[str] = frozenset(["MatMul", "Einsum"])',
        'OPS = VIEWS | {"MatMul", "Einsum"}',
        'OPS |= {*VIEWS, "MatMul", "Einsum"}',
        'INPUT = {"MatMul": 0, "Einsum": 1}',
        'ROLES = {LABELS: ("MatMul", "Einsum")}',
        'OPS = "MatMul Einsum".split()',
        'class Rule:\n    ops = ["MatMul", "Einsum"]',
        'if True:\n    OPS = ["MatMul", "Einsum"]',
    ],
)
def test_a_list_of_ops_is_seen_however_it_is_written(text: str) -> None:
    assert [*listed_ops(ast.parse(text), known_ops())]


@pytest.mark.parametrize(
    "text",
    [
        'OPS = VIEWS | {"MatMul"}',
        'WORDS = ("KeyboardInterrupt", "SystemExit")',
        'RULES = {"MatMul": _product, "Einsum": lambda a, b: a}',
        'def find(op):\n    return op in ("MatMul", "Einsum")',
    ],
)
def test_what_is_no_list_of_ops_is_left_alone(text: str) -> None:
    assert not [*listed_ops(ast.parse(text), known_ops())]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("import tensorsleuth.cli.main", "cli/main"),
        ("from tensorsleuth.cli import main", "cli/main"),
        ("def lazily():\n    from tensorsleuth.cli.main import main", "cli/main"),
        ("import importlib\nimportlib.import_module('tensorsleuth.cli.main')", "cli/main"),
        ("from importlib import import_module\nNAME = 'tensorsleuth.cli.main'\nimport_module(NAME)", "cli/main"),
        ("__import__('tensorsleuth.cli.main')", "cli/main"),
        ("from importlib import import_module\nimport_module(f'tensorsleuth.cli.{name}')", "cli"),
    ],
)
def test_an_import_is_seen_however_it_is_written(text: str, name: str) -> None:
    found = [_existing(full.split(".")[1:]) for _, full in imports_in(ast.parse(text), ("tensorsleuth",))]
    assert name in found


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
