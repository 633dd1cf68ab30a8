"""What commands import and open: each module is a part of a millisecond or more that somebody waits for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit import little_run

from tensorsleuth.trace.storage import run_folder

ASK = """
import json, sys
opened = []
sys.addaudithook(lambda event, given: opened.append(str(given[0])) if event == "open" else None)
from click.testing import CliRunner
from tensorsleuth.cli.main import cli
result = CliRunner().invoke(cli, sys.argv[1:])
print(json.dumps([result.exit_code, sorted(sys.modules), opened]))
"""
ONLY_FOR_CRASHES = ("tensorsleuth.diagnose.exits.", "tensorsleuth.analyze.memory.")
HEAVY = {"numpy", "rich", "tensorflow"}
MAX_OURS = {"--help": 72, "runs": 90, "why": 357}  # modules of ours; a new one needs a reason, or an import inside


CATALOGUE_OPENED = 2  # its first record, then all
MAX_OPENED = 5  # of one file: `why` maps the events again after it has released their pages


def ask(*words: str) -> tuple[int, set[str], list[str]]:
    """The exit code of a command in a process of its own, the modules that it imported, the files that it opened."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", ASK, *words], env=environment, capture_output=True, text=True, check=True
    )
    code, modules, opened = json.loads(done.stdout)
    return code, set(modules), opened


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of a program that ended well."""
    return little_run.write(tmp_path / "runs" / "20260101-000000-train", tmp_path / "train.py")


def words_of(command: str, run: Path) -> list[str]:
    return {"runs": ["runs", "--logdir", str(run.parent)], "why": ["why", str(run)]}.get(command, [command])


@pytest.mark.parametrize("command", MAX_OURS)
def test_a_command_imports_no_more_than_it_needs(command: str, run: Path) -> None:
    code, modules, _ = ask(*words_of(command, run))
    assert code in (0, 1)
    assert "tensorflow" not in modules and (command != "--help" or not HEAVY & modules)
    ours = {name for name in modules if name.startswith("tensorsleuth")}
    assert len(ours) <= MAX_OURS[command], sorted(ours)


def test_a_program_that_ended_well_needs_nothing_that_knows_of_crashes(run: Path) -> None:
    _, modules, _ = ask("why", str(run))
    assert "tensorsleuth.diagnose.report" in modules
    assert not [name for name in modules if name.startswith(ONLY_FOR_CRASHES)]
    assert not {"_hashlib", "sqlite3", "ssl", "asyncio", "tensorsleuth.recording.recorder"} & modules


def test_a_program_that_did_not_end_well_gets_it(run: Path) -> None:
    meta = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**meta, "ended": {"exit": None, "signal": "SIGKILL", "time": 2.0}}))
    _, modules, _ = ask("why", str(run))
    assert [name for name in modules if name.startswith(ONLY_FOR_CRASHES)]


@pytest.mark.parametrize("command", ["runs", "why"])
def test_a_file_of_a_run_is_not_opened_again_and_again(command: str, run: Path) -> None:
    _, _, opened = ask(*words_of(command, run))
    ours = [os.path.relpath(path, run) for path in opened if path.startswith(f"{run}{os.sep}")]
    assert ours and not {path: ours.count(path) for path in ours if ours.count(path) > MAX_OPENED}


def test_the_closing_reads_the_catalogue_once(run: Path) -> None:
    (run / run_folder.TENSORFLOW_SEEN_FILE).touch()
    code = (
        "import sys; from pathlib import Path; opened = []\n"
        "sys.addaudithook(lambda event, given: opened.append(str(given[0])) if event == 'open' else None)\n"
        "from tensorsleuth.cli.output.closing import print_closing\n"
        "from tensorsleuth.core.exit_status import ExitStatus\n"
        "print_closing(Path(sys.argv[1]), ['train.py'], ExitStatus(0, 1.0, 1))\n"
        "print(sum(path.endswith('catalog.journal') for path in opened))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code, run], env=environment, capture_output=True, text=True, check=True
    )
    assert "PROBLEM" in done.stderr and int(done.stdout) == CATALOGUE_OPENED


def test_a_start_inside_the_program_imports_no_reader(tmp_path: Path) -> None:
    """The part that runs in every Python of a run imports the standard library only, and little of it."""
    code = (
        "import sys; before = set(sys.modules); from tensorsleuth.live.startup import autostart;"
        "print(sorted({name for name in set(sys.modules) - before if not name.startswith('tensorsleuth')}))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert "numpy" not in done.stdout and "dataclasses" not in done.stdout and "pathlib" not in done.stdout
