"""The recipes of CONTRIBUTING.md are true of the code as it is."""

from __future__ import annotations

import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from tests.unit import little_run

from tensorsleuth.diagnose.nan import causes
from tensorsleuth.diagnose.rules import rules

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
RECIPES = [textwrap.dedent(block) for block in re.findall(r"^ *```python\n(.*?)^ *```", TEXT, re.M | re.S)]
NEW = ("web/src/panels/opcounts/OpCountsPanel.tsx",)  # files that the reader of a recipe writes


def recipe(name: str) -> Any:
    (block,) = [block for block in RECIPES if f"def {name}(" in block]
    scope: dict[str, Any] = {}
    exec(compile(block, "CONTRIBUTING.md", "exec"), scope)
    return scope[name]


@pytest.mark.parametrize(("name", "known"), [("match", causes.causes()[0].match), ("find", rules()[0].find)])
def test_a_cause_and_a_rule_are_called_as_those_that_are_there(name: str, known: Any) -> None:
    assert str(inspect.signature(recipe(name))).replace("'", "") == str(inspect.signature(known)).replace("'", "")


def test_the_rule_can_be_asked(tmp_path: Path) -> None:
    from tensorsleuth.trace.reader import Trace

    (process,) = Trace(little_run.write(tmp_path / "run", tmp_path / "train.py")).processes
    assert list(recipe("find")(process)) == []


def test_the_command_runs(tmp_path: Path) -> None:
    command = recipe("command")
    assert isinstance(command, click.Command) and "sleuth ops" in str(command.help)
    done = CliRunner().invoke(command, [str(little_run.write(tmp_path / "run", tmp_path / "train.py"))])
    assert done.exit_code == 0 and re.fullmatch(r"[1-9]\d* ops\n", done.output)


def test_paths_and_targets_exist() -> None:
    paths = re.findall(r"`((?:src|tests|docs|web)/[\w./-]+|[A-Z]+\.md)`", TEXT)
    assert len(paths) > 12 and [path for path in paths if path not in NEW and not (ROOT / path).exists()] == []
    links = re.findall(r"\]\(([\w./-]+)\)", TEXT)
    assert links and [link for link in links if not (ROOT / link).exists()] == []
    said = re.findall(r"(?:^ +|`)make ((?:[a-z][a-z0-9-]* ?)+)", TEXT, re.M)
    targets = re.findall(r"^\.PHONY: (.+)", (ROOT / "Makefile").read_text(), re.M)[0].split()
    assert {target for words in said for target in words.split()} - {*targets} == set()
