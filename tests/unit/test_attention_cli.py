"""`sleuth attention` on runs whose weights are known: what it says, at two widths, and what it refuses."""

from __future__ import annotations

import json
import os
import shlex
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.unit.inside_run import STEPS, InsideRun, causal, statistics, weights

from tensorsleuth.cli.main import cli

IDS = np.array([[2, 5, 7, 5, 9, 3, 4, 8, 6, 1, 0, 0], [2, 4, 4, 8, 3, 9, 6, 7, 5, 8, 3, 1]], np.int32)
IDS = np.concatenate([IDS, IDS])
WORDS = ["[PAD]", "[SEP]", "[CLS]", "the", "cat", "sat", "on", "mat", "a", "transformation"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three blocks, of which the second has no causal mask."""
    made = InsideRun(tmp_path_factory.mktemp("runs") / "lm")
    for block, mask in enumerate((causal(), None, causal())):
        looks = [weights(20 * block + look, (4, 4, 12, 12), masked=mask) for look in range(len(STEPS))]
        made.attention(f"lm/block_{block}/attention", looks)
    made.input("train_step/input_ids", IDS)
    return made.write()


@pytest.fixture(scope="module")
def vocab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vocab") / "vocab.txt"
    path.write_text("\n".join(WORDS) + "\n")
    return path


def asked(run: Path, *options: str, columns: int = 80) -> tuple[int, str]:
    result = CliRunner(env={"COLUMNS": str(columns)}).invoke(cli, ["attention", str(run), *options])
    assert all(len(line) <= columns for line in result.stdout.splitlines()), result.stdout
    return result.exit_code, result.output


@pytest.mark.parametrize("columns", [40, 60, 75])
def test_a_small_terminal_has_the_first_numbers(run: Path, columns: int) -> None:
    code, said = asked(run, columns=columns)
    numbers = statistics(weights(20 + len(STEPS) - 1, (4, 4, 12, 12)))
    title, row = said.partition("lm/block_1/attention at step 300")[2].splitlines()[1:3]
    assert code == 0 and title.split()[:3] == ["head", "entropy", "distance"] and "▁" not in said
    assert row.split()[:3] == ["0", f"{numbers['entropy'][0]:.2f}", f"{numbers['distance'][0]:.1f}"]


@pytest.mark.parametrize("columns", [80, 120])
def test_what_a_person_reads(run: Path, columns: int) -> None:
    code, said = asked(run, columns=columns)
    assert code == 0 and "3 layers, 12 heads · 11 samples, steps 0 to 300" in said
    words = " ".join(said.split())
    assert "✗ lm/block_1/attention, all 4 heads:" in words and "while the other 2 of this kind look back only" in words
    assert "lm/block_0/attention 4 12 × 12 probe model/lm.py:24" in words
    assert said.count("head  entropy") == 3 and ("+0.0" in said or "-0.0" in said) == (columns == 120)
    numbers = statistics(weights(20 + len(STEPS) - 1, (4, 4, 12, 12)))
    row = said.partition("lm/block_1/attention at step 300")[2].splitlines()[2].split()
    assert [row[1], row[3 if columns == 80 else 4]] == [f"{numbers['entropy'][0]:.2f}", f"{numbers['distance'][0]:.1f}"]


def test_one_layer_and_the_look_nearest_to_a_step(run: Path) -> None:
    code, said = asked(run, "--layer", "block_0", "--step", "90")
    assert code == 0 and "lm/block_0/attention at step 100" in said and "block_1" not in said
    assert "These heads show nothing remarkable.\n\n → sleuth why has more: " in said


@pytest.mark.parametrize("columns", [80, 120])
def test_a_heat_map_with_positions(run: Path, columns: int) -> None:
    code, said = asked(run, "--layer", "block_0", "--head", "2", columns=columns)
    title, above, *rows = said.partition(" lm/block_0/attention · head 2")[2].splitlines()
    assert code == 0 and title.startswith(" · sample 0 · step 300 · █ is ") and above.split() == ["0", "10"]
    expected = weights(len(STEPS) - 1, (4, 4, 12, 12), masked=causal())[0, 2]
    assert title.endswith(f"█ is {np.quantile(expected, 0.99):.2g} or more")
    for number, row in enumerate(rows[:12]):
        cells = row[4:].ljust(24)[::2]
        assert row[:4] == f" {number:>2} " and not cells[number + 1 :].strip()  # nothing ahead
        assert max(zip(cells, range(12), strict=True), key=lambda cell: " ·░▒▓█".index(cell[0]))[0] != " "
        assert cells[int(expected[number].argmax())] in "▒▓█"


@pytest.mark.parametrize("columns", [80, 120])
def test_tokens_on_the_axes(run: Path, vocab: Path, columns: int) -> None:
    code, said = asked(
        run, "--layer", "block_1", "--head", "0", "--sample", "1", "--vocab", str(vocab), columns=columns
    )
    lines = said.partition("head 0 · sample 1")[2].partition("\n sleuth why")[0].splitlines()[1:]
    rows = [line.split()[0] for line in lines[-12:]]
    assert code == 0 and rows == [(WORDS[number], "transformat…")[number == 9] for number in IDS[1].tolist()]
    downwards = [
        "".join(letters).strip() for letters in zip(*(line[14::2].ljust(12) for line in lines[:-12]), strict=True)
    ]
    assert downwards == [(WORDS[number], "transfo…")[number == 9] for number in IDS[1].tolist()]


def test_no_ids_that_fit_are_said(tmp_path: Path, vocab: Path) -> None:
    made = InsideRun(tmp_path / "run")
    made.attention("mha", [weights(1, (4, 4, 7, 7))])
    made.input("f/input_ids", IDS)
    code, said = asked(made.write(), "--head", "0", "--vocab", str(vocab))
    assert code == 0 and "No ids of the batch fit the keys" in said


def test_large_weights_are_made_smaller(tmp_path: Path) -> None:
    made = InsideRun(tmp_path / "run")
    made.attention("mha", [weights(1, (1, 2, 200, 200))])
    code, said = asked(made.write(), "--head", "1")
    assert code == 0 and "4 queries × 4 keys in each cell" in " ".join(said.split())
    assert len(said.partition("head 1 · ")[2].splitlines()) < 60


def test_many_heads_are_a_line_a_layer(tmp_path: Path) -> None:
    made = InsideRun(tmp_path / "run")
    for block in range(4):
        made.attention(f"lm/block_{block}/attention", [weights(block, (1, 16, 6, 6))] * 2)
    run = made.write()
    for columns in (80, 120):
        code, said = asked(run, columns=columns)
        assert code == 0 and "The mean of the heads of each layer" in said and "head  entropy" not in said
        hinted = next(line for line in said.splitlines() if line.startswith(" sleuth attention"))
        command = shlex.split(hinted.strip().partition("   ")[0])
        first = CliRunner(env={"COLUMNS": "80"}).invoke(cli, command[1:]).stdout
        assert first.count("head  entropy") == 1 and "lm/block_0/attention at step" in first
    assert "head  entropy" in asked(run, "--layer", "block_3")[1]


@pytest.mark.parametrize("many", [2, 24])  # a table for each head, and a line a layer
def test_rows_of_long_names_differ(tmp_path: Path, many: int) -> None:
    made = InsideRun(tmp_path / "run")
    for block in range(many):
        name = f"tf_bert_for_sequence_classification/bert/encoder/layer_._{block}/attention/self"
        made.attention(name, [weights(block, (1, 4, 6, 6))] * 2)
    code, said = asked(made.write())
    rows = [line.split()[0] for line in said.splitlines() if "probe" in line or line.startswith(" laye…")]
    assert code == 0 and len(set(rows)) == len(rows) == (many if many == 2 else 2 * many), said
    assert "All names begin with tf_bert_for_sequence_classification/bert/encoder/" in said
    titles = [line for line in said.splitlines() if line.endswith("at step 300")]
    assert len(set(titles)) == len(titles) == (2 if many == 2 else 0)


def test_json_has_all_of_it(run: Path, vocab: Path) -> None:
    code, said = asked(run, "--layer", "block_1", "--head", "3", "--vocab", str(vocab), "--json", columns=4000)
    told = json.loads(said)
    (one,), (remark, padding), (picture,) = told["attention"], told["remarks"], told["pictures"]
    assert (padding["what"], padding["severity"]) == ("on-padding", "note")  # the last of the first sample
    assert code == 0 and (one["queries"], one["keys"], one["heads"], one["steps"]) == (12, 12, 4, list(STEPS))
    assert np.shape(one["statistics"]["entropy"]) == (len(STEPS), 4)
    assert (remark["what"], remark["severity"], remark["heads"]) == ("looks-ahead", "error", [0, 1, 2, 3])
    assert picture["keys"] == picture["queries"] == [WORDS[number] for number in IDS[0]]
    expected = weights(20 + len(STEPS) - 1, (4, 4, 12, 12))[0, 3]
    np.testing.assert_allclose(picture["weights"], expected, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            ["--layer", "decoder"],
            "no attention layer has that name. The layers are lm/block_0/attention, lm/block_1/attention",
        ),
        (["--layer", "("], "is not a regular expression"),
        (["--head", "4"], "--head 4: the heads are 0 to 3."),
        (["--sample", "2"], "--sample 2: the weights of lm/block_0/attention were kept for 2 samples, 0 to 1."),
        (["--vocab", "nowhere.txt"], "nowhere.txt"),
        (["--head", "-1"], "-1 is not in the range"),
    ],
)
def test_wrong_options(run: Path, options: list[str], says: str) -> None:
    code, said = asked(run, *options)
    assert code == 2 and says in " ".join(said.split())


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"mode": "FLIGHT", "inside_every": 100}, "in the mode FLIGHT, which records no values"),
        ({"mode": "FULL_HEALTH", "inside_every": 0}, "inside_every was 0"),
        ({"mode": "FULL_HEALTH"}, "by a version that did not record this"),
        (
            {"mode": "FULL_HEALTH", "inside_every": 100},
            "no model was called, and nothing trained, in a step that was to be sampled",
        ),
    ],
)
@pytest.mark.parametrize("command", ["attention", "layers"])
def test_why_there_is_nothing(tmp_path: Path, command: str, settings: dict[str, object], says: str) -> None:
    run = InsideRun(tmp_path / "run", settings).write()
    result = CliRunner().invoke(cli, [command, str(run)])
    assert result.exit_code == 2 and says in " ".join(result.output.split())


def test_a_model_without_attention_says_what_was_seen(tmp_path: Path) -> None:
    made = InsideRun(tmp_path / "run")
    made.numbers("output", "dense", [1.0, 2.0], (3, 4))
    code, said = asked(made.write())
    assert code == 2 and "shows no attention" in said and "1 layer output was recorded." in " ".join(said.split())


def test_one_of_each_is_said_as_one(tmp_path: Path) -> None:
    made = InsideRun(tmp_path / "run")
    made.attention("mha", [weights(1, (1, 1, 6, 6))])
    run = made.write()
    assert "1 layer, 1 head · 1 sample, step 300" in asked(run)[1]
    assert "--head 3: the only head is 0." in asked(run, "--head", "3")[1]
    assert "--sample 3: the weights of mha were kept for sample 0 only." in asked(run, "--sample", "3")[1]


def test_a_run_that_has_only_begun_says_so(tmp_path: Path) -> None:
    run = InsideRun(tmp_path / "run").write()
    meta = json.loads((run / "run.json").read_text()) | {"pid": os.getpid(), "started": time.time()}
    (run / "run.json").write_text(json.dumps({name: value for name, value in meta.items() if name != "ended"}))
    code, said = asked(run)
    assert code == 2 and "it is still running, and no training step has been sampled yet" in said
