"""`sleuth layers` on a run whose numbers are known: what it says, at two widths."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.unit.inside_run import STEPS, InsideRun

from tensorsleuth.analyze.layers.curves import common_layer_name
from tensorsleuth.cli.main import cli
from tensorsleuth.core.layout.rows import MeasureFlag
from tensorsleuth.ui.terminal.charts.cells import short_number

MANY = len(STEPS)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two blocks of an MLP that grows tenfold from the first to the second, where 3 of 4 units are dead."""
    made = InsideRun(tmp_path_factory.mktemp("runs") / "mlp")
    for block, size in enumerate((1.0, 10.0)):
        units = {"flags": MeasureFlag.NORM | MeasureFlag.UNITS, "before": 3 * block, "change": 4, "zero": 6}
        made.numbers("output", f"lm/block_{block}/up", [2.0] * MANY, (3, 4), **units)
        made.numbers("output", f"lm/block_{block}", [size * 4.0] * MANY, (4, 4), sum=8.0)
    made.numbers("output", "lm/gate", [3.9] * MANY, (4, 4), activation="Tanh")
    for name, norm in (("lm/block_0/up/kernel", 3e-5), ("lm/block_1/up/bias", 3.0), ("lm/block_1/up/kernel", 4.0)):
        made.numbers("gradient", name, [norm] * MANY, (4, 4), nan=1 if name.endswith("bias") else 0)
        compared = {"flags": MeasureFlag.NORM | MeasureFlag.COMPARED, "before": 100.0, "change": norm}
        made.numbers("update", name, [norm] * MANY, (4, 4), **compared)
    return made.write()


def asked(run: Path, *options: str, columns: int = 80) -> tuple[int, str]:
    result = CliRunner(env={"COLUMNS": str(columns)}).invoke(cli, ["layers", str(run), *options])
    assert all(len(line) <= columns for line in result.stdout.splitlines()), result.stdout
    return result.exit_code, result.stdout


@pytest.mark.parametrize("columns", [80, 120])
def test_what_leaves_each_layer(run: Path, columns: int) -> None:
    code, said = asked(run, columns=columns)
    rows = {line.split()[0]: line.split()[1:] for line in said.splitlines() if line.startswith(" lm/")}
    spread = short_number(2 / np.sqrt(12), 2 if columns == 80 else 3)
    assert code == 0 and rows["lm/block_1/up"] == ["3×4", "0", spread, "2", "50%", "3/4", "▁" * MANY]
    assert rows["lm/gate"][-2:-1] == ["95%"] and rows["lm/gate"][-3] == "sat"  # 1 - the mean of y²
    assert rows["lm/block_1"][-1] == "█" * MANY and rows["lm/block_0/up"][-1] == "▁" * MANY
    assert rows["lm/block_#"][:5] == ["1", "→", "10", "×10", "from"]
    assert "Root mean square: ▁ 0.577 … █ 10, logarithmic" in said


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["tfgpt2lm_head_model/h_._0", "tfgpt2lm_head_model/h_._1"], "tfgpt2lm_head_model/h_._#"),
        (["enc_1/block_3", "enc_2/block_4"], "enc_#/block_#"),
        (["vit2/add", "vit2/add_1"], "vit2/add_#"),
        (["h0", "h_1"], "h_#"),
    ],
)
def test_a_number_that_all_blocks_have_is_part_of_their_name(names: list[str], told: str) -> None:
    assert common_layer_name(names) == told


def test_what_is_written_to_a_file_ends_without_blanks(run: Path) -> None:
    result = CliRunner(env={"COLUMNS": "80"}).invoke(cli, ["layers", str(run)])
    assert "sleuth why" in result.output and not [line for line in result.output.splitlines() if line != line.rstrip()]


@pytest.mark.parametrize("columns", [80, 120])
def test_gradients_flow_from_the_last_layer_to_the_first(run: Path, columns: int) -> None:
    code, said = asked(run, "--gradients", columns=columns)
    rows = [line.split() for line in said.splitlines() if line.startswith(" lm/")]
    assert code == 0 and rows[0] == ["lm/block_1/up", "5", "█" * 16, "×" * MANY]  # of 3 and 4; one held a NaN
    assert rows[1] == ["lm/block_0/up", "3e-05", "█", "▁" * MANY] and len(rows) == 2


def test_updates_are_shares_of_the_weights(run: Path) -> None:
    code, said = asked(run, "--updates", "--layer", "kernel")
    rows = [line.split() for line in said.splitlines() if line.startswith(" lm/")]
    assert code == 0 and [row[:2] for row in rows] == [
        ["lm/block_0/up/kernel", "3e-07"],
        ["lm/block_1/up/kernel", "0.04"],
    ]
    assert " output " not in said and "No output" not in said


def test_json_has_all_of_it(run: Path) -> None:
    code, said = asked(run, "--json", columns=4000)
    told = json.loads(said)
    assert code == 0 and [one["name"] for one in told["layers"]][:2] == ["lm/block_0/up", "lm/block_0"]
    first = told["layers"][0]
    assert (first["shape"], first["steps"], first["units"][0], first["zero"][0]) == ([3, 4], list(STEPS), 4, 6)
    assert told["layers"][-1]["saturated"] == [pytest.approx(3.9**2 / 16)] * MANY and first["saturated"][0] is None
    assert told["flow"][0] == {"layer": "lm/block_1/up", "steps": list(STEPS), "norm": [5.0] * MANY}
    assert told["updates"][1]["ratio"] == [0.03] * MANY
    assert told["growth"] == [
        {"family": "lm/block_#", "layers": ["lm/block_0", "lm/block_1"], "sizes": [1, 10], "times": 10}
    ]


def test_a_name_that_nothing_has(run: Path) -> None:
    result = CliRunner().invoke(cli, ["layers", str(run), "--layer", "decoder"])
    assert result.exit_code == 2 and "--layer decoder: no layer or variable has that name" in result.output


@pytest.mark.parametrize(
    ("number", "told"),
    [(0, "0"), (0.0312345, "0.0312"), (-1234.5, "-1234"), (1e-7, "1e-07"), (np.nan, "–"), (5e4, "5e+04")],
)
def test_figures(number: float, told: str) -> None:
    assert short_number(number) == told


def test_few_looks_leave_the_table_whole(tmp_path: Path) -> None:
    made = InsideRun(tmp_path / "run")
    made.numbers("output", "a_layer_with_a_name_that/is_far_too_long_for_the_table", [1.0, 2.0], (3, 4))
    made.numbers("gradient", "a_layer_with_a_name_that/is_far_too_long_for_the_table/at_all/kernel", [1.0, 2.0], (3, 4))
    run = made.write()
    for options in ([], ["--gradients"]):
        code, said = asked(run, *options)
        lines = said[said.index("\n gradient of" if options else "\n output  ") + 1 :].splitlines()
        assert code == 0 and len(lines) == 4 and lines[0].endswith("over steps")  # with a heading


@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize("option", ["--step=300", "--gradients", "--updates"])
def test_rows_of_long_names_differ(tmp_path: Path, option: str, columns: int) -> None:
    made = InsideRun(tmp_path / "run")
    ends = ("self/query", "self/key", "output/dense")
    names = [f"tf_bert_for_sequence_classification/bert/layer_._{at}/attention/{end}" for at in (0, 1) for end in ends]
    for name in names:
        made.numbers("output", name, [1.0, 2.0], (3, 4))
        made.numbers("gradient", f"{name}/kernel", [1.0, 2.0], (3, 4))
        made.numbers("update", f"{name}/kernel", [1.0, 2.0], (3, 4), flags=MeasureFlag.COMPARED, before=1.0, change=1.0)
    code, said = asked(made.write(), option, columns=columns)
    heading, rows = "", list[str]()
    for line in said.splitlines():
        heading = line if line.endswith("/") else heading
        rows += [heading + line.split()[0]] if line.endswith(("▁█", "▅▅")) else []
    assert code == 0 and len(rows) == len(set(rows)) == 6, said


def test_the_title_of_narrow_names_has_its_room(tmp_path: Path) -> None:
    made = InsideRun(tmp_path / "run")
    made.numbers("gradient", "q", [1.0, 2.0], (3, 4))
    said = asked(made.write(), "--gradients")[1]
    title, row = said[said.index(" gradient of") :].splitlines()[:2]
    assert title.index("norm") + 4 == row.index("2") + 1


def test_without_outputs_gradients_are_shown(tmp_path: Path) -> None:
    made = InsideRun(tmp_path / "run")
    made.numbers("gradient", "q", [1.0, 2.0], (3, 4))
    code, said = asked(made.write())
    assert code == 0 and "No layer output was recorded" in said and "gradient of" in said


def test_what_why_has_to_say_is_told(run: Path) -> None:
    said = " ".join(asked(run)[1].split())
    assert "→ sleuth why has more: " in said and "underflowed to 0 at step 2." in said


def test_hints_can_be_typed(run: Path) -> None:
    hinted = CliRunner().invoke(cli, ["layers", str(run)]).stderr
    told = [line.strip() for line in hinted.splitlines() if line.startswith(" sleuth ")]
    commands = [line.partition("   ")[0] for line in told]
    assert [command.split()[:3] for command in commands] == [
        ["sleuth", "layers", "--gradients"],
        ["sleuth", "layers", "--updates"],
        ["sleuth", "why", "--logdir"],
    ]
    codes = [CliRunner().invoke(cli, shlex.split(command)[1:]).exit_code for command in commands]
    assert codes == [0, 0, 1]  # 1: there is a problem, and this command finds it


def test_layers_full_of_nan_have_no_numbers(tmp_path: Path) -> None:
    made = InsideRun(tmp_path / "run")
    made.numbers("output", "all", [0.0, 0.0], (3, 4), nan=12)
    made.numbers("output", "some", [2.0, 2.0], (3, 4), nan=4, zero=6)
    made.numbers("output", "none", [0.0, 0.0], (3, 4), zero=12)
    made.numbers("gradient", "all/kernel", [0.0, 0.0], (3, 4), nan=12)
    run = made.write()
    rows = {line.split()[0]: line.split()[1:] for line in asked(run, columns=120)[1].splitlines() if line[:1] == " "}
    assert rows["all"] == ["3×4", "NaN", "NaN", "NaN", "–", "××"]
    assert rows["some"] == ["3×4", "0", "0.707", "2", "50%", "××"]
    assert rows["none"] == ["3×4", "0", "0", "0", "100%", "··"]
    assert " all " in (said := asked(run, "--gradients")[1]) and "NaN" in said
    told = json.loads(asked(run, "--json", columns=4000)[1])
    assert [one["norm"] for one in told["layers"]] == [[None, None], [2, 2], [0, 0]]
    assert told["gradients"][0]["norm"] == told["flow"][0]["norm"] == [None, None]
