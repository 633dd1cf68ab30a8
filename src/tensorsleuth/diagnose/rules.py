"""The rules that need no bad value, one a file, each beside what only that rule needs.

A new file in one of FOLDERS with `RULE = Rule(…)` is found by itself: no list names the rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType

from tensorsleuth.core.finding import Finding
from tensorsleuth.diagnose import attention, inputs, leaks, training
from tensorsleuth.diagnose.rule import Rule, RuleFinding
from tensorsleuth.trace.process.process import ProcessTrace

FOLDERS = (attention, inputs, leaks, training)


@cache
def rules_in(*folders: ModuleType) -> tuple[Rule, ...]:
    """Return the RULE of each file in some packages, in the order of the files' names, wherever these lie."""
    found = [one for folder in folders for one in walk_packages(folder.__path__, f"{folder.__name__}.")]
    names = sorted((one.name for one in found if not one.ispkg), key=lambda name: name.rpartition(".")[2])
    every = (getattr(import_module(name), "RULE", None) for name in names)
    return tuple(rule for rule in every if isinstance(rule, Rule))


def rules() -> tuple[Rule, ...]:
    return rules_in(*FOLDERS)


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
        if found and not any(self.of_rule(other) for other in rules() if rule.id in other.supersedes):
            yield from found


def rule_findings(process: ProcessTrace) -> list[Finding]:
    """Return all that rules found in a process, the worst first."""
    found = [(rule, one) for rule in rules() for one in process.cached(RuleFindings).of_rule(rule)]
    ranked = sorted(found, key=lambda pair: pair[1].rank)
    return [rule.to_finding(process, one) for rule, one in ranked]
