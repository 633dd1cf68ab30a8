"""`sleuth report`: a sheet without a script, with pictures that say what the numbers say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.unit import hostile
from tests.unit.test_export import Read

from tensorsleuth.cli.main import cli
from tensorsleuth.trace.storage import synthetic
from tensorsleuth.ui.web.report.document import make_report
from tensorsleuth.ui.web.report.scales import AxisScale, make_scale, tick_label
from tensorsleuth.ui.web.report.svg_charts import ChartLane, curve_chart, lanes_chart

ALLOWED = """
html head meta title style body h1 h2 h3 p span code section pre table tr td th dl dt dd figure figcaption
svg line text polyline polygon circle rect
"""


@pytest.fixture
def sheet(tmp_path: Path) -> str:
    return make_report(hostile.write(tmp_path / "first", tmp_path))


def test_it_tells_the_finding_its_line_and_what_was_seen(sheet: str) -> None:
    assert '<span class="bad">1 problem</span>' in sheet and "NaN or infinity from finite inputs at step 3" in sheet
    marked = re.findall(r'<span class="row here"><span class="number">(\d+)</span>', sheet)
    assert marked == ["5"]
    assert "2 NaN of 66" in sheet and "written to a variable" in sheet and "<h2>Not covered</h2>" in sheet
    assert sheet.count("<svg") == 3, "the tensor over the run, all tensors over time, a scalar"


def test_no_word_of_the_trace_becomes_markup(sheet: str) -> None:
    read = Read(sheet)
    assert {tag for tag, _ in read.tags} <= set(ALLOWED.split())
    given = {name for _, attributes in read.tags for name in attributes}
    assert not [name for name in given if name.startswith("on") or name in ("src", "href", "style")]
    assert "<script" not in sheet.lower() and "\x1b" not in sheet and "\u202e" not in sheet and "\0" not in sheet


def test_its_policy_allows_the_one_style(sheet: str) -> None:
    from tensorsleuth.ui.web.export.export import csp_digest

    assert f"style-src '{csp_digest(Read(sheet).inside['style#'])}'" in sheet and "script-src" not in sheet


def test_a_healthy_run_is_told_as_such(tmp_path: Path) -> None:
    sheet = make_report(synthetic.write(tmp_path / "first", events=3000, bad=0))
    assert '<span class="good">healthy</span>' in sheet and "3,000 tensors watched" in sheet


def test_the_command_writes_it(tmp_path: Path) -> None:
    hostile.write(tmp_path / "runs" / "first", tmp_path)
    target = tmp_path / "sheet.html"
    done = CliRunner().invoke(cli, ["report", "--logdir", str(tmp_path / "runs"), "-o", str(target)])
    assert done.exit_code == 0 and "open it in any browser" in done.output
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")
    done = CliRunner().invoke(
        cli, ["report", "--logdir", str(tmp_path / "runs"), "-o", str(tmp_path / "no" / "x.html")]
    )
    assert done.exit_code == 2 and "Name another file: -o FILE" in done.output


def test_a_line_breaks_where_there_is_no_number() -> None:
    drawn = curve_chart([0, 1, 2, 3, 4], [1.0, 2.0, None, 3.0, None], "loss", "step", [False, False, True, False, True])
    assert drawn.count("<polyline") == 1 and drawn.count("<circle") == 1 and drawn.count('class="mark"') == 2
    heights = [float(y) for y in re.findall(r"[\d.]+,([\d.]+)", drawn)]
    assert heights[0] > heights[1], "larger is higher"


def test_bars_are_as_high_as_they_count() -> None:
    drawn = lanes_chart([ChartLane("thread 1", [1, 0, 10], [0, 0, 5])], (0.0, 3.0))
    bars = re.findall(r'class="(bar|bar bad)" x="[\d.]+" y="[\d.]+" width="[\d.]+" height="([\d.]+)"', drawn)
    assert [kind for kind, _ in bars] == ["bar", "bar", "bar bad"]
    assert float(bars[0][1]) < float(bars[1][1])


def test_ticks_are_round_and_inside() -> None:
    assert AxisScale(0, 10, 0, 1).ticks() == [0, 2.5, 5, 7.5, 10]
    assert AxisScale(-87, 0, 0, 1).ticks() == [-75, -50, -25, 0]
    assert AxisScale(3, 3, 0, 1).ticks() == [3]


def test_a_curve_that_explodes_is_drawn_on_a_steep_scale() -> None:
    steep = make_scale([[1.0, 2.0, 3.0, 1e38]], 0, 100)
    assert steep.bend is not None and steep(3.0) > 0.5 and steep(1e38) == 100
    assert all(1 <= tick <= 1e38 for tick in steep.ticks())
    assert make_scale([[1.0, 2.0, 3.0]], 0, 100).bend is None
    assert make_scale([[-87.0, -80.0], [-1e-8, -1e-9]], 0, 100).bend is None, (
        "a small one beside a large one is not steep"
    )
    assert make_scale([[2.0, 2.0]], 0, 100)(2.0) == 50 and make_scale([[None]], 0, 100)(0.5) == 50


def test_numbers_are_short() -> None:
    assert [tick_label(value) for value in (0, 0.25, 1200, 3e38, -1e-6)] == ["0", "0.25", "1,200", "3e+38", "-1e-06"]
