"""The rules that need no bad value, one a file, each beside what only that rule needs.

A new file in one of FOLDERS with `RULE = Rule(…)` is found by itself: no list names the rules. `NEEDS` of a folder
lists the parts of a recording that its rules are about; without them the folder's files are not even imported.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from tensorsleuth.core.finding import Finding
from tensorsleuth.diagnose import attention, inputs, leaks, training
from tensorsleuth.diagnose.needs import ALL_PARTS, Need, recorded_parts
from tensorsleuth.diagnose.rule import Rule, RuleFinding
from tensorsleuth.trace.process.process import ProcessTrace

FOLDERS = (attention, inputs, leaks, training)


@cache
def rules_in(*folders: ModuleType, parts: Need = ALL_PARTS) -> tuple[Rule, ...]:
    """Return the RULE of each file in some packages, in the order of the files' names, wherever these lie.

    `parts` leaves out packages whose rules are about other parts of a recording.
    """
    found = (name for folder in folders for name in _files(folder, parts))
    every = (getattr(import_module(name), "RULE", None) for name in sorted(found, key=_leaf))
    return tuple(rule for rule in every if isinstance(rule, Rule))


def _files(folder: ModuleType, parts: Need) -> Iterator[str]:
    needs: Need | None = getattr(folder, "NEEDS", None)
    for one in iter_modules(folder.__path__, f"{folder.__name__}."):
        if one.ispkg:
            yield from _files(import_module(one.name), parts)
        elif needs is None or needs & parts:
            yield one.name


def _leaf(name: str) -> str:
    return name.rpartition(".")[2]


def rules(process: ProcessTrace | None = None) -> tuple[Rule, ...]:
    """Return all rules, or those that may find something in a process."""
    return rules_in(*FOLDERS, parts=process.cached(recorded_parts)) if process is not None else rules_in(*FOLDERS)


class RuleFindings:
    """The findings of each rule in a process. `process.once(RuleFindings)` asks each rule once."""

    def __init__(self, process: ProcessTrace) -> None:
        self._process = process
        self._found: dict[str, list[RuleFinding]] = {}

    def of_rule(self, rule: Rule) -> list[RuleFinding]:
        if rule.id not in self._found:
            self._found[rule.id] = list(self._run(rule))
        return self._found[rule.id]

    def _run(self, rule: Rule) -> Iterator[RuleFinding]:
        """One finding a cause: a rule is silent where another that supersedes it finds something."""
        found = [rule.complete(one) for one in rule.find(self._process)]
        if found and not any(self.of_rule(other) for other in rules(self._process) if rule.id in other.supersedes):
            yield from found


def symptoms(process: ProcessTrace) -> set[str]:
    """Return the causes that an earlier bad value explains."""
    return {slug for rule in rules(process) if rule.is_symptom for slug in rule.slugs}


def rule_findings(process: ProcessTrace) -> list[Finding]:
    """Return all that rules found in a process, the worst first."""
    found = [(rule, one) for rule in rules(process) for one in process.cached(RuleFindings).of_rule(rule)]
    ranked = sorted(found, key=lambda pair: pair[1].rank)
    return [rule.to_finding(process, one) for rule, one in ranked]
