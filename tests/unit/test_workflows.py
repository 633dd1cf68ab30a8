"""The workflows and the hooks of commits: what they call exists, and what they ask for can be installed."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROJECT = (ROOT / "pyproject.toml").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
CI: dict[str, Any] = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
HOOKS: dict[str, Any] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
# Up to this Python 3, from 3.10 on, tensorflow-cpu has builds, according to its package index.
LATEST_PYTHON = {"2.15": 11, "2.16": 12, "2.17": 12, "2.18": 12, "2.19": 12, "2.20": 13, "2.21": 13}

Pair = tuple[str, str]


def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def pairs() -> set[Pair]:
    """Return the jobs that GitHub makes of the matrix."""
    matrix = CI["jobs"]["tensorflow"]["strategy"]["matrix"]
    excluded = {(one["python"], one["tensorflow"]) for one in matrix["exclude"]}
    every = set(product(matrix["python"], matrix["tensorflow"]))
    assert excluded <= every, "an exclusion that excludes nothing"
    return every - excluded


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_parses_and_every_step_does_something(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text())
    assert workflow[True], "YAML reads the key `on` as true"
    assert all(("run" in step) != ("uses" in step) for step in steps(workflow))
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"]) for step in steps(workflow) if "uses" in step)
    assert all(job["timeout-minutes"] and job["runs-on"].startswith("ubuntu-") for job in workflow["jobs"].values())


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_targets_variables_and_files_that_are_named_exist(path: Path) -> None:
    text = re.sub(r"\$\{\{.*?\}\}", "expression", path.read_text())
    lines = [line for step in steps(yaml.safe_load(text)) for line in step.get("run", "").splitlines()]
    words = [word for line in lines if line.startswith("make ") for word in line.split()[1:]]
    targets = re.findall(r"^\.PHONY: (.+)", MAKEFILE, re.M)[0].split()
    assert words and [word for word in words if "=" not in word and word not in targets] == []
    variables = {word.partition("=")[0] for word in words if "=" in word}
    assert [name for name in variables if not re.search(rf"^{name} \?= ", MAKEFILE, re.M)] == []
    named = re.findall(r"\btests/[\w/.]+", "\n".join(lines))
    assert named and [name for name in named if not (ROOT / name).exists()] == []


def test_lint_tests_docs_and_wheels_are_run() -> None:
    assert {*CI["jobs"]} == {"lint", "test", "tensorflow", "docs", "wheel"}
    said = "\n".join(step.get("run", "") for step in steps(CI))
    assert all(word in said for word in ("make lint", "make test\n", "make wheel", "sleuth demo"))


def test_the_matrix_is_every_pair_that_can_be_installed() -> None:
    possible = {(f"3.{minor}", version) for version, latest in LATEST_PYTHON.items() for minor in range(10, latest + 1)}
    assert pairs() == possible


def test_the_matrix_is_what_the_package_says_of_itself() -> None:
    pythons = sorted({python for python, _ in pairs()}, key=lambda text: int(text[2:]))
    assert re.findall(r"Programming Language :: Python :: (3\.\d+)", PROJECT) == pythons
    assert f'requires-python = ">={pythons[0]}"' in PROJECT
    newest = max(LATEST_PYTHON, key=lambda text: int(text[2:]))
    assert re.search(rf"^TENSORFLOW \?= {re.escape(newest)}\.", MAKEFILE, re.M)


def test_hooks_use_the_tools_of_the_environment() -> None:
    hooks = [hook for repo in HOOKS["repos"] for hook in repo["hooks"]]
    assert {repo["repo"] for repo in HOOKS["repos"]} == {"local"}
    assert [hook["id"] for hook in hooks] == ["ruff", "ruff-format", "clang-format", "codespell"]
    tools = {hook["entry"].split()[0] for hook in hooks if hook["language"] == "system"}
    assert tools == {".venv/bin/ruff", ".venv/bin/clang-format", ".venv/bin/codespell"}
    assert all(re.search(rf'^  "{tool.rpartition("/")[2]}[=>]=', PROJECT, re.M) for tool in tools)


def test_lint_checks_spelling_with_one_version_of_its_list() -> None:
    assert "$(BIN)/codespell\n" in MAKEFILE and re.search(r'^  "codespell==\d+\.\d+\.\d+",', PROJECT, re.M)
