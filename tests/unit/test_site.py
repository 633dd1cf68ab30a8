"""The site of the documentation: its navigation, its links, its reference pages; and the tools that build it."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from tests.unit.test_attention_cli import run as attention_run
from tools import check_site, command_help
from tools.github_markdown import for_python_markdown

import tensorsleuth
from tensorsleuth.cli import command_table
from tensorsleuth.cli.main import cli
from tensorsleuth.core.layout import rows
from tensorsleuth.core.layout.ring_header import RingHeader
from tensorsleuth.live.layer_stats import series as layer_series
from tensorsleuth.live.watch import watches
from tensorsleuth.trace.process.process import _FILES
from tensorsleuth.trace.storage import run_folder

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SRC = ROOT / "src" / "tensorsleuth"
CONFIG = re.sub(r"!!python/\S+", "", (ROOT / "mkdocs.yml").read_text())
NAV = yaml.safe_load(CONFIG)["nav"]
PROJECT = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
GENERATED = {"reference/commands.md", *(f"project/{name}" for name in PROJECT)}
PAGES = [ROOT / "README.md", *(ROOT / name for name in PROJECT), *sorted(DOCS.rglob("*.md"))]
FORMAT = (DOCS / "trace-format.md").read_text()
JSON = (DOCS / "reference" / "json.md").read_text()
API = (DOCS / "reference" / "api.md").read_text()

run = attention_run


def in_nav(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    for below in entry.values() if isinstance(entry, dict) else entry if isinstance(entry, list) else ():
        yield from in_nav(below)


def test_the_navigation_has_four_parts_and_every_page_once() -> None:
    assert [name for part in NAV for name in part] == ["Start here", "How to", "Reference", "Explanation"]
    there = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert sorted(in_nav(NAV)) == sorted(there | GENERATED)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    links = re.findall(r"\]\((?![a-z]+:|#)([^)\s#]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_site_takes_nothing_from_other_hosts() -> None:
    config = yaml.safe_load(CONFIG)
    assert config["theme"]["font"] is False
    assert "repo_url" not in config, "the theme would ask GitHub for its stars"


# Pages are written for GitHub.


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("Covered:\n- a\n- b\n", "Covered:\n\n- a\n- b\n"),
        ("Steps,\nin order:\n1. a\n   more\n2. b\n", "Steps,\nin order:\n\n1. a\n   more\n2. b\n"),
        ("Text\n| a |\n|---|\n", "Text\n\n| a |\n|---|\n"),
        ("| `a\\|b` | c |\n", "| `a|b` | c |\n"),
        ("- a\ngoes on\n- b\n", "- a\ngoes on\n- b\n"),
        ("```\nText:\n- a\n```\n", "```\nText:\n- a\n```\n"),
        ("## Head\n- a\n", "## Head\n- a\n"),
    ],
)
def test_lists_and_tables_get_the_blank_line_that_mkdocs_needs(written: str, wanted: str) -> None:
    assert for_python_markdown(written) == wanted


# The tool that checks what was built.


def site(folder: Path, **pages: str) -> list[str]:
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text)
    return list(check_site.problems(folder))


def test_links_of_a_site_are_followed_to_places(tmp_path: Path) -> None:
    good = '<a href="b.html#there">b</a><img src="data:image/png;base64,"><a href="https://example.org/x">x</a>'
    assert site(tmp_path, a=good, b='<h2 id="there">…</h2><a href="#there">up</a>') == []
    bad = '<a href="b.html#gone">b</a><a href="c.html">c</a><img src="no.png">'
    wrong = site(tmp_path, a=bad)
    assert [line.split(": ")[1].split(" ")[0] for line in wrong] == ["b.html#gone", "c.html", "no.png"]


def test_assets_of_other_hosts_are_told(tmp_path: Path) -> None:
    (line,) = site(tmp_path, a='<script src="https://example.org/x.js"></script>')
    assert line == "a.html: takes https://example.org/x.js from another host"


def test_a_site_without_pages_is_no_site(tmp_path: Path) -> None:
    assert len(site(tmp_path)) == 1 and check_site.main(tmp_path) == 1


# Commands and Python names.


def test_the_help_of_every_command_is_on_its_page() -> None:
    page = command_help.page()
    assert [
        name for name in command_table.COMMAND_NAMES if f"## sleuth {name}\n```text\nUsage: sleuth {name} " not in page
    ] == []
    assert "## sleuth data check\n" in page and "-h, --help" in page


def test_every_public_name_is_in_the_reference() -> None:
    named = {path.rpartition(".")[2] for path in re.findall(r"^::: (\S+)", API, re.M)}
    assert {*tensorsleuth.__all__} - named - {"open", "keras"} == set()
    assert "open_trace" in named and "SleuthCallback" in named


@pytest.mark.parametrize("path", re.findall(r"^::: (\S+)", API, re.M))
def test_a_name_of_the_reference_is_written_where_it_says(path: str) -> None:
    home, _, name = path.rpartition(".")
    if path == "tensorsleuth.keras.SleuthCallback":
        assert "import SleuthCallback" in (SRC / "keras.py").read_text()  # importing it needs TensorFlow
    elif home == "tensorsleuth":
        assert name in tensorsleuth.__all__
    else:
        assert hasattr(import_module(home), name)


# JSON.


def keys(value: Any) -> set[str]:
    """Every key in a JSON value."""
    if isinstance(value, dict):
        return {*value}.union(*map(keys, value.values()))
    return set[str]().union(*map(keys, value)) if isinstance(value, list) else set()


def section(command: str) -> str:
    return JSON.partition(f"\n## sleuth {command}\n")[2].partition("\n## ")[0]


def printed(*arguments: str) -> Any:
    return json.loads(CliRunner().invoke(cli, [*arguments, "--json"]).stdout)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    with zipfile.ZipFile(ROOT / "tests/traces/0.1/train.zip") as packed:
        packed.extractall(tmp_path)
    return next(path for path in tmp_path.iterdir() if path.is_dir())


def test_what_why_prints_is_in_the_reference(kept: Path) -> None:
    said = printed("why", str(kept))
    assert said["findings"], "else no field of a finding would be compared"
    assert {*said} - {*re.findall(r"`(\w+)`", section("why"))} == set()
    told = section("why") + (DOCS / "why.md").read_text() + (DOCS / "crashes.md").read_text()
    assert keys(said) - {*re.findall(r"`(\w+)`", told)} == set()


@pytest.mark.parametrize("command", ["profile", "memory"])
def test_what_a_command_prints_of_a_run_is_in_the_reference(kept: Path, command: str) -> None:
    said = printed(command, str(kept))
    assert keys(said) and keys(said) - {*re.findall(r"`(\w+)`", section(command))} == set()


def test_what_runs_and_info_print_is_in_the_reference(kept: Path) -> None:
    fields = {*re.findall(r"`(\w+)`", section("runs"))}
    assert {*printed("runs", "--logdir", str(kept.parent))[0]} == fields
    assert {*printed("info", str(kept))} - fields - {*re.findall(r"`(\w+)`", section("info"))} == set()


def test_what_attention_and_layers_print_is_in_the_reference(run: Path, kept: Path) -> None:
    assert {*printed("attention", str(run))} == {*re.findall(r"`(\w+)`", section("attention"))}
    assert {*printed("layers", str(kept))} == {*re.findall(r"`(\w+)`", section("layers"))}


def test_what_data_check_prints_is_in_the_reference(tmp_path: Path) -> None:
    np.savez(tmp_path / "bad.npz", x=np.array([[1.0, np.nan]] * 8, np.float32))
    said = printed("data", "check", str(tmp_path / "bad.npz"))
    assert said["violations"] and keys(said) - {*re.findall(r"`(\w+)`", section("data check"))} == set()


def test_what_doctor_prints_is_in_the_reference() -> None:
    said = printed("doctor")
    fields = {*said} | keys(said["checks"])
    assert fields - {*re.findall(r"`(\w+)`", section("doctor"))} == set()


def test_every_command_with_json_has_a_section() -> None:
    asked = [name for name, text in command_help.helps(cli, "sleuth") if "--json " in text.partition("Options:")[2]]
    there = {*re.findall(r"^## (sleuth .+)", JSON, re.M)}
    assert len(asked) > 8 and {*asked} - there == {"sleuth replay"} and "sleuth replay" in section("why")


# The trace format.


def test_every_kind_of_record_is_described() -> None:
    writer = (SRC / "trace/storage/catalog_writer.py").read_text()
    written = {*re.findall(r'_(?:write|numbered)\("(\w+)"', writer)}
    described = {*re.findall(r"^\| `(\w+)` \|", FORMAT.partition("## The catalogue")[2], re.M)}
    assert len(written) > 15 and written == described


def test_every_file_of_a_trace_is_described(kept: Path) -> None:
    files = {f"{name}.bin" for name in _FILES} | {
        *watches.WATCHED_FILES,
        *layer_series.LAYER_STATS_FILES,
        layer_series.ROW_HASHES_FILE,
    }
    files |= {path.name for path in kept.glob("p-*/*")}
    files |= {
        run_folder.META_FILE,
        run_folder.TENSORFLOW_SEEN_FILE,
        run_folder.TENSORBOARD_FOLDER,
        run_folder.FAULTS_FOLDER,
    }
    files |= {run_folder.PAUSED_FILE, run_folder.HANG_FILE, run_folder.SHARED_FOLDER}
    assert [name for name in sorted(files) if f"`{name}`" not in FORMAT] == []


def test_sizes_of_rows_are_right() -> None:
    said = dict(re.findall(r"`([A-Z_]+)`, (\d+) bytes", FORMAT))
    assert len(said) == 10 and {name: str(getattr(rows, name).itemsize) for name in said} == said


def test_the_header_of_a_file_of_rows_is_described() -> None:
    table = FORMAT.partition("| field of the header |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.M) == [*RingHeader.__dataclass_fields__]
