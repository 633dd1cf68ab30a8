"""Whatever stands in the files of what was seen inside: the commands answer, or say why not."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.inside_run import STEPS, InsideRun, causal, weights
from tests.unit.test_trace_fuzz import FUZZ, changed, changes

from tensorsleuth.cli.main import cli

FILES = ("inside.bin", "inside_value_rows.bin", "inside_values.bin", "shapes.bin", "catalog.journal")
QUESTIONS = (["attention", "--head", "1"], ["attention", "--json"], ["layers"], ["layers", "--gradients", "--updates"])


@pytest.fixture(scope="session")
def seen_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = InsideRun(tmp_path_factory.mktemp("runs") / "seen")
    for block in range(2):
        looks = [weights(block, (2, 2, 6, 6), masked=causal(6)) for _ in STEPS]
        made.attention(f"lm/block_{block}/attention", looks)
        made.numbers("output", f"lm/block_{block}", [1.0, 2.0], (3, 4))
        made.numbers("gradient", f"lm/block_{block}/kernel", [1.0, 2.0], (3, 4))
        made.numbers("update", f"lm/block_{block}/kernel", [1.0, 2.0], (3, 4))
    made.input("f/input_ids", np.array([[1, 2, 3, 4, 0, 0], [5, 6, 7, 0, 0, 0]], np.int32))
    return made.write()


def ask(run: Path) -> set[int]:
    codes = set()
    for command, *options in QUESTIONS:
        result = CliRunner().invoke(cli, [command, str(run), *options])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
        codes.add(result.exit_code)
    return codes


def test_a_sound_one_is_answered(seen_run: Path) -> None:
    assert ask(seen_run) == {0}


@FUZZ
@given(name=st.sampled_from(FILES), change=changes())
def test_any_change_to_any_file(
    seen_run: Path, tmp_path_factory: pytest.TempPathFactory, name: str, change: Callable[[bytearray], None]
) -> None:
    run = changed(seen_run, tmp_path_factory.mktemp("changed") / "run", name, change)
    assert ask(run) <= {0, 2}
    shutil.rmtree(run.parent)
