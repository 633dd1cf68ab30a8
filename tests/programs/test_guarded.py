"""The gallery under `tensorsleuth.guard()`: it stops the ill programs, with the marked line, and no healthy one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs.needed import every
from tests.programs.score import marks_of, programs

from tensorsleuth.core.finding import Basis
from tensorsleuth.diagnose.rules import rules

GUARDED = "import runpy, sys, tensorsleuth\ntensorsleuth.guard()\nrunpy.run_path(sys.argv[1], run_name='__main__')"
NEED_NO_BAD_VALUE = {cause for rule in rules() if rule.basis is not Basis.BAD_VALUE for cause in rule.slugs}
DIES = {  # of an error that TensorFlow raises by itself
    "bag_of_words_batches",
    "clinic_notes_bert",
    "flower_species_labels",
    "movie_recommender_embedding",
    "order_word_tags",
    "shard_token_budget",
    "star_rating_classifier",
}


@pytest.mark.long
@pytest.mark.parametrize("program", every(programs([])))
def test_guarded(program: Path, tmp_path: Path) -> None:
    quiet = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-c", GUARDED, str(program)]
    ran = subprocess.run(command, cwd=tmp_path, env=quiet, capture_output=True, text=True, timeout=300)
    raised = re.search(rf"NumericsError: {program.stem}\.py:(\d+)[: ]", ran.stderr)
    marks = marks_of(program)
    if set(marks.values()) <= NEED_NO_BAD_VALUE:  # no bad value in it: nothing to stop
        assert ran.returncode == 0, ran.stderr[-2000:]
    elif program.stem not in DIES:
        assert raised is not None and int(raised.group(1)) in marks, ran.stderr[-2000:]
    assert not list(tmp_path.iterdir()), "no files"
