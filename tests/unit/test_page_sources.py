"""Source files on the page: coloured, escaped, with the health of each line."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit import little_run
from tests.unit.page_client import ask

from tensorsleuth.ui.web.answers.source import highlight
from tensorsleuth.ui.web.answers.source.highlight import highlight_lines
from tensorsleuth.ui.web.run.open_run import OpenRun
from tensorsleuth.ui.web.run.sources import _unique_length, lines_of

TAG = re.compile(r'<span class="[a-z]+[0-9]?">|</span>')


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> OpenRun:
    folder = tmp_path_factory.mktemp("runs")
    return OpenRun(little_run.write(folder / "little", folder / "train.py"))


def test_lines_with_margins_of_one_step(opened: OpenRun) -> None:
    source = ask(opened, "sources/0", at="0.20")
    assert source["file"]["name"] == "train.py" and len(source["lines"]) == 12
    margins = {number: line["margin"] for number, line in enumerate(source["lines"], 1) if line["margin"]}
    assert set(margins) == {7, 8, 9, 11}
    assert margins[7] == {"tensors": 2, "bad": 0, "firstBad": None, "first": "0.18", "words": "range 0 … 6"}
    assert (margins[8]["tensors"], margins[8]["bad"], margins[8]["firstBad"]) == (2, 1, "0.20")
    assert margins[8]["words"].startswith("2 −∞ of 6") and margins[11]["tensors"] == 3


def test_margins_of_another_step_and_of_the_run(opened: OpenRun) -> None:
    healthy = ask(opened, "sources/0", at="0.0")["lines"][7]["margin"]
    assert (healthy["bad"], healthy["words"]) == (0, "range -1.5 … 4")
    whole = ask(opened, "sources/0")["lines"][7]["margin"]
    assert (whole["tensors"], whole["bad"], whole["firstBad"], whole["first"]) == (8, 2, "0.20", "0.2")


def test_a_string_of_several_lines_stays_one(opened: OpenRun) -> None:
    lines = [line["html"] for line in ask(opened, "sources/0")["lines"]]
    assert lines[4:6] == [
        '    <span class="sd">&quot;&quot;&quot;Two</span>',
        '<span class="sd">    lines.&quot;&quot;&quot;</span>',
    ]
    assert '<span class="k">def</span>' in lines[3]


@given(
    st.text(max_size=300)
    | st.lists(
        st.sampled_from(["<script>", '"""', "'", "\n", "x=1", "#", "&", "\r", "\0", "\x0c", "\u2028", "f'{"])
    ).map("".join)
)
def test_whatever_a_file_says_only_spans_are_html(text: str) -> None:
    lines = highlight_lines(text)
    assert len(lines) == len(lines_of(text))
    bare = [TAG.sub("", line) for line in lines]
    assert not any(letter in line for line in bare for letter in "<>\"'")
    assert "\n".join(map(unescape, bare)) == "\n".join(lines_of(text)) or "&" in text


def test_a_very_long_file_is_not_coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highlight, "MAX_HIGHLIGHTED_LETTERS", 10)
    assert highlight_lines("import os  # <b>\n") == ["import os  # &lt;b&gt;"]


def test_names_are_as_short_as_tells_files_apart() -> None:
    paths = [path.split("/") for path in ("/a/x/train.py", "/b/x/train.py", "/b/model.py")]
    assert [_unique_length(path, paths) for path in paths] == [3, 3, 1]


def test_hostile_names_do_not_reach_the_disk(opened: OpenRun, tmp_path: Path) -> None:
    for number in ("/etc/passwd", "../0", "0/../../x", "%2e", "٠", "1" * 30):
        with pytest.raises(Exception, match="file"):
            opened.sources.text(number)
