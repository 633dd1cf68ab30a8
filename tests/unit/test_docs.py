"""What users can type is documented."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest
from starlette.routing import Route

import tensorsleuth
from tensorsleuth.analyze.attention import thresholds
from tensorsleuth.cli import command_table
from tensorsleuth.cli.doctor.coverage import COVERED, NOT_COVERED
from tensorsleuth.core.finding import Diagnosis, Evidence, Finding
from tensorsleuth.core.modes import Mode
from tensorsleuth.core.run_end import LiveTensor, MemoryAtEnd, RunEnd, RunningOp, ThreadStack
from tensorsleuth.core.series import LogMessage
from tensorsleuth.data.feature import Label
from tensorsleuth.data.pipeline.actions import ACTIONS as ON_VIOLATION
from tensorsleuth.data.pipeline.actions import BadElement
from tensorsleuth.data.readers import suffixes
from tensorsleuth.diagnose.rules import rules as diagnose_rules
from tensorsleuth.live.breakpoints.breakpoint import ACTIONS
from tensorsleuth.live.breakpoints.condition_words import KNOWN_WORDS
from tensorsleuth.live.breakpoints.hit import Hit
from tensorsleuth.live.breakpoints.op_names import JudgedOp
from tensorsleuth.live.watch.options import MEASURES
from tensorsleuth.live.watch.table import TensorStatsRow, TensorStatsTable
from tensorsleuth.recording.settings import Settings
from tensorsleuth.recording.structure.selector import SELECTOR_KINDS, WATCH_KINDS
from tensorsleuth.trace.query.columns import COLUMNS
from tensorsleuth.trace.query.ops import Op
from tensorsleuth.trace.query.tensor_event import SourceLine, TensorEvent
from tensorsleuth.trace.query.tensors import Tensors
from tensorsleuth.trace.query.variable_use import Variable
from tensorsleuth.trace.reader import Trace
from tensorsleuth.trace.series.attention import HEAD_STATISTICS, AttentionSeries
from tensorsleuth.trace.series.layer_stats import LayerStatistics
from tensorsleuth.trace.series.watched import WatchedSeries
from tensorsleuth.ui.debugger import filters
from tensorsleuth.ui.debugger.command import Command
from tensorsleuth.ui.debugger.commands import all_commands
from tensorsleuth.ui.tui.keys import KEYS, PANE_KEYS, Key
from tensorsleuth.ui.web.server.app import api_routes
from tensorsleuth.ui.web.server.run_cache import RunCache

ROOT = Path(__file__).parents[2]


def public_names(kind: type) -> set[str]:
    """What a class of ours has that users may use, less what every sequence or tuple has."""
    ours = {name for base in kind.__mro__ if base.__module__.startswith("tensorsleuth") for name in vars(base)}
    data = {field.name for field in fields(kind) if field.repr} if is_dataclass(kind) else set()
    slots = set(getattr(kind, "__slots__", ()))
    return {name for name in (ours - slots) | data if not name.startswith("_") and name not in ("processes", "to_json")}


def json_fields() -> list[str]:
    return sorted(Diagnosis("", (), (), (), (), 0, 0).to_json())


def causes() -> list[str]:
    """Every cause: what rules say that they can find, and what stories of bad values and failures begin with."""
    texts = [path.read_text() for path in (ROOT / "src/tensorsleuth/diagnose").rglob("*.py")]
    named = r'(?:Explanation\(|slug = |: |, )\s*"([a-z]+(?:-[a-z]+)+)"'
    stories = {name for text in texts for name in re.findall(named, text)}
    return sorted(stories | {cause for rule in diagnose_rules() for cause in rule.slugs} | {"origin"})


WHY = (ROOT / "docs/why.md").read_text()
COMMANDS = (ROOT / "docs/commands.md").read_text()
RECORDING = (ROOT / "docs/recording.md").read_text()
KERAS = (ROOT / "docs/keras.md").read_text()
COVERAGE = (ROOT / "docs/coverage.md").read_text()
API = (ROOT / "docs/api.md").read_text()
DEBUGGER = (ROOT / "docs/debugger.md").read_text()
WATCH = (ROOT / "docs/watch.md").read_text()
INSIDE = (ROOT / "docs/inside.md").read_text()
PAGE = (ROOT / "docs/page.md").read_text()
HTTP_API = (ROOT / "docs/http-api.md").read_text()
CRASHES = (ROOT / "docs/crashes.md").read_text()
BREAKPOINTS = (ROOT / "docs/breakpoints.md").read_text()

ASKED = (Trace, Tensors, TensorEvent, Op, Variable, SourceLine, Diagnosis)
METHODS = sorted({(kind.__name__, name) for kind in ASKED for name in public_names(kind)})


@pytest.mark.parametrize("name", command_table.COMMAND_NAMES)
def test_command_is_documented(name: str) -> None:
    command = command_table.load_command(name)
    assert f"`sleuth {name}" in COMMANDS
    assert command is not None and command.help and f"sleuth {name}" in command.help, "help shows an example"


@pytest.mark.parametrize("mode", Mode)
def test_mode_is_documented(mode: Mode) -> None:
    assert f"| `{mode.name}` |" in RECORDING


@pytest.mark.parametrize("field", [field.name for field in fields(Settings)])
def test_setting_is_documented(field: str) -> None:
    assert f"`{field}`" in RECORDING or f"SLEUTH_{field.upper()}" in RECORDING


@pytest.mark.parametrize("field", [field.name for field in fields(Finding) if field.name not in ("source", "call")])
def test_field_of_a_finding_is_documented(field: str) -> None:
    assert f"`{field}`" in WHY


@pytest.mark.parametrize("field", [field.name for field in fields(Evidence)])
def test_field_of_evidence_is_documented(field: str) -> None:
    assert f"`{field}`" in WHY


@pytest.mark.parametrize("field", ["version", *json_fields()])
def test_field_of_a_verdict_is_documented(field: str) -> None:
    assert f"`{field}`" in WHY


def test_rules_name_every_cause_that_checks_of_tokens_give() -> None:
    unnamed = {*token_rules()} - {cause for rule in diagnose_rules() for cause in rule.slugs}
    assert unnamed == {"label-range", "unused"}, "no rule asks for these: only `check_batch` does"


@pytest.mark.parametrize("cause", causes())
def test_cause_is_documented(cause: str) -> None:
    assert f"`{cause}`" in WHY


def ends() -> list[str]:
    texts = [path.read_text() for path in (ROOT / "src/tensorsleuth/diagnose/exits/kinds").glob("*.py")]
    return sorted({name for text in texts for name in re.findall(r'(?:ExitExplanation|Fault)\(\s*"([a-z-]+)"', text)})


@pytest.mark.parametrize("cause", ends())
def test_way_to_end_is_documented(cause: str) -> None:
    assert f"`{cause}`" in CRASHES and f"`{cause}`" in WHY


@pytest.mark.parametrize(
    "kind", [RunEnd, RunningOp, ThreadStack, MemoryAtEnd, LiveTensor], ids=lambda kind: kind.__name__
)
def test_field_of_an_end_is_documented(kind: type) -> None:
    assert [field.name for field in fields(kind) if f"`{field.name}`" not in CRASHES] == []


@pytest.mark.parametrize("name", tensorsleuth.__all__)
def test_public_name_has_a_docstring(name: str) -> None:
    assert inspect.getdoc(getattr(tensorsleuth, name))


@pytest.mark.parametrize(("kind", "name"), METHODS)
def test_what_a_trace_can_be_asked_is_documented(kind: str, name: str) -> None:
    assert re.search(rf"\b{name}\b", API), f"docs/api.md says nothing of {kind}.{name}"


@pytest.mark.parametrize("column", ["process", "step", "epoch", "batch", *COLUMNS])
def test_column_of_health_is_documented(column: str) -> None:
    assert f"`{column}`" in API


@pytest.mark.parametrize("question", [Trace.ops, Trace.tensors])
def test_parameter_of_a_question_is_documented(question: Callable[..., object]) -> None:
    for name in list(inspect.signature(question).parameters)[1:]:
        assert re.search(rf"trace\.{question.__name__}\([^\n]*\b{name}\b", API), name


@pytest.mark.parametrize("command", all_commands(), ids=lambda command: command.name)
def test_command_of_the_debugger_is_documented(command: Command) -> None:
    row = next((line for line in DEBUGGER.splitlines() if re.match(rf"\| [^|]*`{command.name}\b", line)), None)
    assert row is not None and command.summary and command.name in command.help
    for option in command.options:
        flags = [name for name in option.names if name.startswith("-")]
        assert not flags or any(f"`{flag}" in row for flag in flags), flags


@pytest.mark.parametrize("key", [*KEYS, *PANE_KEYS], ids=lambda key: key.shown)
def test_key_of_the_debugger_is_documented(key: Key) -> None:
    assert f"`{key.shown}`" in DEBUGGER.partition("## Commands")[0]


@pytest.mark.parametrize("name", filters.FILTER_COLUMNS)
def test_name_in_a_filter_is_documented(name: str) -> None:
    assert f"`{name}`" in DEBUGGER.partition("## Filters")[2]


def test_arguments_of_the_callback_are_documented() -> None:
    arguments = list(inspect.signature(tensorsleuth.keras.SleuthCallback.__init__).parameters)[1:]
    assert [name for name in arguments if f"`{name}`" not in KERAS] == []
    asked = [name for name, kind in vars(tensorsleuth.keras.SleuthCallback).items() if isinstance(kind, property)]
    assert [name for name in asked if name[0] != "_" and name != "model" and f"`{name}`" not in KERAS] == []


def test_environment_variables_are_documented() -> None:
    used = {name for path in (ROOT / "src").rglob("*.py") for name in re.findall(r"SLEUTH_[A-Z]+", path.read_text())}
    assert {name for name in used if name not in RECORDING} <= {"SLEUTH_REQUIRE_NATIVE", "SLEUTH_WERROR"}


@pytest.mark.parametrize("what", [*COVERED, *NOT_COVERED])
def test_what_is_and_is_not_covered_is_documented(what: str) -> None:
    assert f"| {what} |" in COVERAGE


def test_tests_of_what_is_covered_exist() -> None:
    named = re.findall(r"`(tests/[^`]+)`", COVERAGE)
    assert named and [name for name in named if not (ROOT / name).exists()] == []


def test_hooks_are_documented() -> None:
    names = re.findall(r'^    "(\w+)",$', (ROOT / "src/tensorsleuth/hooks.py").read_text(), re.M)
    page = (ROOT / "docs/sessions.md").read_text()
    assert len(names) > 5 and [name for name in names if f"`{name}" not in page and f".{name}" not in page] == []


def test_readme_pages_exist() -> None:
    readme = (ROOT / "README.md").read_text()
    for link in (
        "docs/recording.md",
        "docs/coverage.md",
        "docs/api.md",
        "docs/keras.md",
        "docs/performance.md",
        "docs/commands.md",
        "docs/debugger.md",
        "docs/page.md",
        "docs/http-api.md",
        "docs/breakpoints.md",
        "docs/watch.md",
        "docs/inside.md",
        "docs/data.md",
        "docs/transformers.md",
        "docs/guide-checks.md",
        "docs/cookbook.md",
        "ARCHITECTURE.md",
    ):
        assert link in readme and (ROOT / link).exists(), link


@pytest.mark.parametrize("word", KNOWN_WORDS)
def test_word_of_a_condition_is_documented(word: str) -> None:
    conditions = BREAKPOINTS.split("## Conditions")[1].split("## Which")[0]
    assert re.search(rf"^\|[^|]*`{word}`[^|]*\|", conditions, re.M)


@pytest.mark.parametrize("kind", [f"{kind}:" for kind in SELECTOR_KINDS if kind])
def test_kind_of_tensor_is_documented(kind: str) -> None:
    assert f'`"{kind}' in BREAKPOINTS


@pytest.mark.parametrize("action", ACTIONS)
def test_action_is_documented(action: str) -> None:
    assert f'| `"{action}"' in BREAKPOINTS


@pytest.mark.parametrize("name", sorted(public_names(Hit) | public_names(JudgedOp) - {"tensor", "where"}))
def test_field_of_a_hit_is_documented(name: str) -> None:
    assert f"`{name}`" in BREAKPOINTS


@pytest.mark.parametrize("what", [*MEASURES, *(f"{kind}:" for kind in WATCH_KINDS if kind)])
def test_what_can_be_watched_is_documented(what: str) -> None:
    assert f'| `"{what}' in WATCH


@pytest.mark.parametrize("name", sorted(public_names(WatchedSeries) | public_names(LogMessage)))
def test_field_of_what_was_watched_is_documented(name: str) -> None:
    assert re.search(rf"`{name}(\(\w*\))?`", WATCH), name


@pytest.mark.parametrize("option", ["--watch", "--watch-every"])
def test_option_for_watching_is_documented(option: str) -> None:
    assert option in COMMANDS and option in WATCH


@pytest.mark.parametrize("option", ["--break", "--break-on", "--then"])
def test_option_for_break_points_is_documented(option: str) -> None:
    assert option in COMMANDS and option in BREAKPOINTS


@pytest.mark.parametrize("route", api_routes(RunCache(Path()), asyncio.Event()), ids=lambda route: route.path)
def test_route_of_the_page_is_documented(route: Route) -> None:
    assert re.search(rf"^\| `{re.escape(route.path)}` \|", HTTP_API, re.M)


def test_filters_of_the_list_are_documented() -> None:
    told = HTTP_API.partition("**Filters**")[2].partition("## Live")[0]
    names = ["name", "op", "layer", "from", "to", "health", "file", "line", "graph", "eager", "sort"]
    assert [name for name in names if f"`{name}`" not in told] == []


@pytest.mark.parametrize("option", ["--host", "--port", "--no-browser", "--export", "-o"])
def test_option_of_the_page_is_documented(option: str) -> None:
    assert option in PAGE and option in COMMANDS


def test_keys_of_the_page_are_documented() -> None:
    keys = re.findall(r"keys: \[([^]]+)\]", (ROOT / "web/src/state/keys.ts").read_text())
    panels = re.findall(r'\bkey: "(.)"', (ROOT / "web/src/panels/registry.ts").read_text())
    named = [key for group in keys for key in re.findall(r'"([^"]+)"', group)]
    assert len(named) > 5 and len(panels) > 3
    assert [key for key in [*named, *panels] if f"`{key}`" not in PAGE.partition("## Keys")[2]] == []


def test_pictures_exist() -> None:
    texts = [(ROOT / "README.md", ROOT), *((path, path.parent) for path in (ROOT / "docs").glob("*.md"))]
    shown = [base / name for path, base in texts for name in re.findall(r"!\[[^]]*\]\(([^)]+)\)", path.read_text())]
    assert shown and [path for path in shown if not path.is_file()] == []


DATA = (ROOT / "docs/data.md").read_text()


def rules() -> list[str]:
    """Every name that a violation of data can have."""
    texts = [path.read_text() for path in (ROOT / "src/tensorsleuth/data/checks").glob("*.py")]
    return sorted({name for text in texts for name in re.findall(r'Violation\(\s*"([a-z_-]+)"', text)})


@pytest.mark.parametrize("rule", rules())
def test_rule_of_data_is_documented(rule: str) -> None:
    assert f"| `{rule}` |" in DATA and len(rules()) > 12


TRANSFORMERS = (ROOT / "docs/transformers.md").read_text()


def token_rules() -> list[str]:
    """Every name that a finding about tokens can have."""
    texts = [path.read_text() for path in (ROOT / "src/tensorsleuth/data/tokens/checks").glob("*.py")]
    return sorted({name for text in texts for name in re.findall(r'Violation\(\s*"([a-z_-]+)"', text)})


@pytest.mark.parametrize("rule", [*token_rules(), "overlap"])
def test_rule_of_tokens_is_documented(rule: str) -> None:
    assert f"| `{rule}` |" in TRANSFORMERS and len(token_rules()) > 14


@pytest.mark.parametrize("name", inspect.signature(tensorsleuth.check_batch).parameters)
def test_argument_of_check_batch_is_documented(name: str) -> None:
    row = re.search(rf"^\|[^|]*`{name}`[^|]*\|", TRANSFORMERS, re.M)
    assert row and re.search(rf"^ +{name}: ", inspect.getdoc(tensorsleuth.check_batch) or "", re.M)


@pytest.mark.parametrize("field", [field.name for field in fields(Label)])
def test_field_of_a_feature_is_documented(field: str) -> None:
    assert f"`{field}`" in DATA.partition("## What a schema says")[2]


@pytest.mark.parametrize(
    "word", [*(f'"{action}"' for action in ON_VIOLATION), *(one.name for one in fields(BadElement)), *suffixes()]
)
def test_word_about_data_is_documented(word: str) -> None:
    assert f"`{word}`" in DATA or f"{word} " in DATA or f"`{word}" in DATA


@pytest.mark.parametrize("name", ["check", "infer"])
def test_command_about_data_is_documented(name: str) -> None:
    from tensorsleuth.cli.commands.data import command

    row = next(line for line in COMMANDS.splitlines() if line.startswith(f"| `sleuth data {name}"))
    options = {flag for option in command.commands[name].params for flag in option.opts if flag.startswith("--")}
    assert {flag for flag in options if f"`{flag}" not in row} <= {"--output"}


def remarks() -> list[str]:
    """Every name that a remark about attention can have."""
    texts = [path.read_text() for path in (ROOT / "src/tensorsleuth/analyze/attention").glob("*.py")]
    named = r'(?:Remark\(|_remark\(\s*one, )"([a-z]+(?:-[a-z]+)*)"'
    return sorted({name for text in texts for name in re.findall(named, text)})


@pytest.mark.parametrize("what", remarks())
def test_remark_about_attention_is_documented(what: str) -> None:
    assert f"| `{what}` |" in TRANSFORMERS and len(remarks()) == 8


def test_thresholds_of_attention_are_documented() -> None:
    section = TRANSFORMERS.split("## Attention")[1].split("## Layers")[0]
    numbers = [value for name, value in vars(thresholds).items() if name.isupper() and isinstance(value, (int, float))]
    words = {0.5: "half", 2 / 3: "two thirds", 1e-6: "0.000001"}
    assert len(numbers) > 12
    assert [one for one in numbers if words.get(one, f"{one:,}") not in section] == []


@pytest.mark.parametrize(
    "name",
    sorted(
        {*HEAD_STATISTICS}.union(
            *map(public_names, (LayerStatistics, AttentionSeries, TensorStatsRow, TensorStatsTable))
        )
    ),
)
def test_what_is_seen_inside_of_a_model_is_documented(name: str) -> None:
    assert re.search(rf"`{name}(\(\w*\))?`", INSIDE), name
