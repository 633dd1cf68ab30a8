"""What to type next: it finds the same run, and there is something to see."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.unit.inside_run import InsideRun, weights

from tensorsleuth.cli.main import cli
from tensorsleuth.cli.output.command_text import sleuth_command
from tensorsleuth.cli.output.next_steps import next_commands
from tensorsleuth.core.finding import Diagnosis, Finding
from tensorsleuth.trace.storage import run_folder


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the user stands: two runs in the usual place, two elsewhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLEUTH_LOGDIR", raising=False)
    for number, name in enumerate(("sleuth_runs/old", "sleuth_runs/new", "my runs/old", "my runs/new")):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / run_folder.META_FILE).write_text(f'{{"started": {1000 + number}}}')
    return tmp_path


@pytest.mark.parametrize(
    ("run", "says"),
    [
        ("sleuth_runs/new", "sleuth why"),
        ("sleuth_runs/old", "sleuth why old"),
        ("my runs/new", "sleuth why --logdir 'my runs'"),
        ("my runs/old", "sleuth why 'my runs/old'"),
    ],
)
def test_a_command_finds_its_run(place: Path, run: str, says: str) -> None:
    said = sleuth_command("why", place / run)
    words = shlex.split(said)[2:]
    option = words[1] if words[:1] == ["--logdir"] else None
    found = run_folder.find(run_folder.logdir(option), None if option or not words else words[0])
    assert said == says and found == place / run


def found(*causes: str) -> Diagnosis:
    findings = [Finding(one, 0.9, "error", f"{one}.", None, None, "f", "", "Log", "Log", 1, None) for one in causes]
    return Diagnosis("run", tuple(findings), (), (), (), 10, 4)


@pytest.mark.parametrize(
    ("causes", "everything", "says"),
    [(1, False, None), (2, False, "1 more finding in full"), (3, False, "2 more findings in full"), (3, True, None)],
)
def test_all_findings_are_hinted_at_where_there_are_more(
    place: Path, causes: int, everything: bool, says: str | None
) -> None:
    ways = next_commands(place / "sleuth_runs/new", found(*"abc"[:causes]), everything)
    assert ways.get("sleuth why --all") == says and "sleuth attention" not in ways


def test_attention_is_hinted_at_where_there_is_some(tmp_path: Path) -> None:
    made = InsideRun(tmp_path / "runs" / "lm")
    made.attention("lm/block_0/attention", [weights(1)])
    run = made.write()
    said = CliRunner(env={"COLUMNS": "80"}).invoke(cli, ["why", str(run)]).output
    assert f"what its {4} heads attend to" in said and "its layers, gradients and updates" in said
    assert f"sleuth attention --logdir {tmp_path / 'runs'}" in said or "sleuth attention --logdir ../" in said
