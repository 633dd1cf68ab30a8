"""A rule is one file: no list names it, and what it says of itself is enough for all who show its findings."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from tests.unit import little_run

from tensorsleuth.core.dtypes import DTYPES
from tensorsleuth.core.finding import Basis
from tensorsleuth.diagnose import needs
from tensorsleuth.diagnose import rules as module
from tensorsleuth.diagnose.needs import Need, recorded_parts
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity
from tensorsleuth.diagnose.rules import FOLDERS, RuleFindings, rule_findings, rules, rules_in
from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.reader import Trace

NEW = """
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity


def find(process):
    yield RuleFinding(confidence=0.6, why="was recorded", fix="read on", frame=None, op="loss")


RULE = Rule(id="was-recorded", severity=Severity.NOTE, find=find)
"""


@pytest.fixture
def process(tmp_path: Path) -> ProcessTrace:
    (process,) = Trace(little_run.write(tmp_path / "run", tmp_path / "train.py")).processes
    return process


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A package with one file that has a rule, two folders down, and one that has none."""
    inner = tmp_path / "rules_of_a_test" / "inner"
    inner.mkdir(parents=True)
    for name, text in (("__init__", ""), ("new", NEW), ("helper", "RULE = 1\n")):
        (inner / f"{name}.py").write_text(text)
    (inner.parent / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    yield import_module("rules_of_a_test")
    for name in [name for name in sys.modules if name.startswith("rules_of_a_test")]:
        del sys.modules[name]


def test_a_new_file_is_all_that_a_rule_needs(
    process: ProcessTrace, folder: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [rule.id for rule in rules_in(folder)] == ["was-recorded"]
    monkeypatch.setattr(module, "FOLDERS", (*FOLDERS, folder))
    (told,) = [one for one in rule_findings(process) if one.cause == "was-recorded"]
    assert told.severity == "note" and told.basis is Basis.COUNTED and told.fix == "read on"


def test_rules_about_what_was_not_recorded_are_not_imported(folder: ModuleType) -> None:
    needing = Path(folder.__path__[0], "inner", "__init__.py")
    needing.write_text("from tensorsleuth.diagnose.needs import Need\n\nNEEDS = Need.TEXTS | Need.TRACES\n")
    assert rules_in(folder, parts=Need.TRAINING) == () and f"{folder.__name__}.inner.new" not in sys.modules
    assert [rule.id for rule in rules_in(folder, parts=Need.TRAINING | Need.TEXTS)] == ["was-recorded"]


def test_a_folder_without_needs_is_always_asked(folder: ModuleType) -> None:
    assert [rule.id for rule in rules_in(folder, parts=Need(0))] == ["was-recorded"]


def test_every_folder_of_rules_lists_its_needs() -> None:
    paths = {path.parent for folder in FOLDERS for path in Path(folder.__path__[0]).rglob("*.py") if has_find(path)}
    assert [path.name for path in paths if "\nNEEDS = " not in (path / "__init__.py").read_text()] == []


def test_a_process_is_asked_about_what_it_has(process: ProcessTrace) -> None:
    parts = process.cached(recorded_parts)
    assert parts and {rule.id for rule in rules(process)} < {rule.id for rule in rules()}
    assert Need.STEPS in parts and Need.TEXTS not in parts and "kept-tensors" in {rule.id for rule in rules(process)}


def test_every_part_is_looked_for() -> None:
    assert {*needs._TESTS} == {*Need}
    assert max(dtype.itemsize for dtype in DTYPES.values()) == needs._MAX_ITEM_BYTES  # else large ones are missed


def test_every_file_with_find_has_a_rule() -> None:
    finds = [path for folder in FOLDERS for path in Path(folder.__path__[0]).rglob("*.py") if has_find(path)]
    assert len(finds) == len(rules()) > 40


def has_find(path: Path) -> bool:
    return "\ndef find(process" in path.read_text()


def test_names_of_rules_are_their_own() -> None:
    ids = [rule.id for rule in rules()]
    assert len({*ids}) == len(ids)
    assert [name for rule in rules() for name in rule.supersedes if name not in ids] == []


def says(name: str, *supersedes: str, severity: Severity = Severity.WRONG, confidence: float = 0.9) -> Rule:
    def find(process: ProcessTrace) -> Iterator[RuleFinding]:
        yield RuleFinding(confidence=confidence, why="does", fix="do not", frame=None, op="op")

    return Rule(id=name, severity=severity, find=find, supersedes=supersedes)


def found(process: ProcessTrace, monkeypatch: pytest.MonkeyPatch, *every: Rule) -> list[str]:
    monkeypatch.setattr(module, "rules", lambda process: every)
    return [one.cause for one in rule_findings(process)]


def test_the_specific_rule_silences_the_general(process: ProcessTrace, monkeypatch: pytest.MonkeyPatch) -> None:
    general, specific = says("general"), says("specific", "general")
    assert found(process, monkeypatch, general, specific) == ["specific"]


def test_what_is_silent_silences_nothing(process: ProcessTrace, monkeypatch: pytest.MonkeyPatch) -> None:
    three = says("general"), says("better", "general"), says("best", "better")
    assert found(process, monkeypatch, *three) == ["general", "best"]
    quiet = replace(says("quiet", "general"), find=lambda process: iter(()))
    process.release_memory()
    assert found(process, monkeypatch, says("general"), quiet) == ["general"]


def test_the_worst_comes_first(process: ProcessTrace, monkeypatch: pytest.MonkeyPatch) -> None:
    every = [says(severity.name, severity=severity) for severity in reversed(Severity)]
    told = found(process, monkeypatch, *every, says("surer", severity=Severity.GROWS, confidence=0.95))
    assert told == ["WRONG", "surer", "GROWS", "DOUBTFUL", "NOTE"]


def test_a_rule_is_asked_once(process: ProcessTrace) -> None:
    asked = []

    def find(process: ProcessTrace) -> Iterator[RuleFinding]:
        asked.append(process)
        return iter(())

    rule = Rule(id="counts", severity=Severity.NOTE, find=find)
    for _ in range(2):
        assert process.cached(RuleFindings).of_rule(rule) == []
    assert len(asked) == 1
