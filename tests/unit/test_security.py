"""Claims of SECURITY.md about traces and modules that no other test holds; also that the tests it names exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.unit import hostile

from tensorsleuth.cli.main import cli
from tensorsleuth.trace.reader import Trace
from tensorsleuth.trace.storage import journal

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "src").rglob("*.py"))
RUN_CODE_WHEN_READ = {"pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "yaml"}
MAY_EVALUATE = {"ui/debugger/evaluation.py", "live/breakpoints/pause/expressions.py"}
COMMANDS = (["why", "--all"], ["why"], ["info"], ["memory"], ["profile"], ["layers"], ["attention"])


def test_what_is_cited_exists() -> None:
    cited = re.findall(r"`((?:src|tests)/[\w./]+)(?:::(\w+))?`", (ROOT / "SECURITY.md").read_text())
    assert len(cited) > 20
    assert [path for path, _ in cited if not (ROOT / path).exists()] == []
    assert [test for path, test in cited if test and f"def {test}(" not in (ROOT / path).read_text()] == []


def test_nothing_is_unpickled() -> None:
    """NumPy's `load` reads no pickle unless it is told to, `save` writes one unless it is told not to."""
    found = [(module, node) for module in MODULES for node in ast.walk(ast.parse(module.read_text()))]
    assert not [module for module, node in found if _imported(node) & RUN_CODE_WHEN_READ]
    calls = [(module, ast.unparse(node)) for module, node in found if isinstance(node, ast.Call)]
    assert not [(module, call) for module, call in calls if "allow_pickle=True" in call]
    writes = [call for _, call in calls if re.match(r"np\.(save|lib\.format\.(read|write)_array)\(", call)]
    assert writes and not [call for call in writes if "allow_pickle=False" not in call]
    evaluates = {module for module, call in calls if re.match(r"(eval|exec)\(", call)}
    assert {module.relative_to(ROOT / "src/tensorsleuth").as_posix() for module in evaluates} == MAY_EVALUATE


def _imported(node: ast.AST) -> set[str]:
    names = [name.name for name in node.names] if isinstance(node, ast.Import) else []
    names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
    return {name.split(".")[0] for name in names}


def test_a_path_in_a_trace_is_never_opened(tmp_path: Path) -> None:
    run = hostile.write(tmp_path / "run", tmp_path)
    (tmp_path / "secret.txt").write_text("the secret\n" * 20)
    (path,) = run.glob("p-*/catalog.journal")
    records = [record for record in journal.read_records(path.read_bytes()) if isinstance(record, tuple)]
    path.unlink()
    catalogue = journal.Journal(path, 1 << 20)
    for kind, fields in records:
        catalogue.append(
            kind, fields | {"path": str(tmp_path / "secret.txt"), "text": None} if kind == "file" else fields
        )
    catalogue.close()
    for command in COMMANDS:
        done = CliRunner().invoke(cli, [*command, str(run)])
        assert "the secret" not in done.output and (done.exception is None or isinstance(done.exception, SystemExit))
    assert "secret.txt" in CliRunner().invoke(cli, ["why", str(run)]).output.replace("\n", "").replace(" ", "")
    assert Trace(run).processes[0].catalogue.sources == {}


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_escape_sequence_of_a_trace_is_printed(tmp_path: Path, command: list[str]) -> None:
    done = CliRunner().invoke(cli, [*command, str(hostile.write(tmp_path / "run", tmp_path))])
    assert done.output and not set(done.output) & {"\x1b", "\x07", "\x00", "\r", "\u202e", "\u2066"}
