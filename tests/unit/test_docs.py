"""What users can type is documented."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from pathlib import Path

import pytest

import tensorsleuth
from tensorsleuth.capture.settings import Settings
from tensorsleuth.cli import commands
from tensorsleuth.model.finding import Finding
from tensorsleuth.model.modes import Mode

ROOT = Path(__file__).parents[2]
COMMANDS = (ROOT / "docs/commands.md").read_text()
RECORDING = (ROOT / "docs/recording.md").read_text()


@pytest.mark.parametrize("name", commands.NAMES)
def test_command_is_documented(name: str) -> None:
    command = commands.load(name)
    assert f"`sleuth {name}" in COMMANDS
    assert command is not None and command.help and f"sleuth {name}" in command.help, "help shows an example"


@pytest.mark.parametrize("mode", Mode)
def test_mode_is_documented(mode: Mode) -> None:
    assert f"| `{mode.name}` |" in RECORDING


@pytest.mark.parametrize("field", [field.name for field in fields(Settings)])
def test_setting_is_documented(field: str) -> None:
    assert f"`{field}`" in RECORDING or f"SLEUTH_{field.upper()}" in RECORDING


@pytest.mark.parametrize("field", [field.name for field in fields(Finding) if field.name != "source"])
def test_field_of_a_finding_is_documented(field: str) -> None:
    assert f'"{field}"' in COMMANDS


@pytest.mark.parametrize("name", tensorsleuth.__all__)
def test_public_name_has_a_docstring(name: str) -> None:
    assert inspect.getdoc(getattr(tensorsleuth, name))


def test_environment_variables_are_documented() -> None:
    used = {name for path in (ROOT / "src").rglob("*.py") for name in re.findall(r"SLEUTH_[A-Z]+", path.read_text())}
    assert {name for name in used if name not in RECORDING} <= {"SLEUTH_REQUIRE_NATIVE"}


def test_readme_pages_exist() -> None:
    readme = (ROOT / "README.md").read_text()
    for link in ("docs/recording.md", "docs/performance.md", "docs/commands.md", "ARCHITECTURE.md"):
        assert link in readme and (ROOT / link).exists(), link
