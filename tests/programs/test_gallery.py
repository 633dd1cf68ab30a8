"""Every program of the gallery, recorded: its marked line, its marked cause, no false alarm.

`make test` runs the first of each cause, FOLLOWED and all that are healthy; `make test-all` all of them, through `sleuth run`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.programs.needed import every, needs
from tests.programs.score import MARK, Score, programs, run_whole, score
from tests.warm_python import WarmPython, shared

from tensorsleuth.trace.storage import run_folder


# What they prove is not their cause but how it is followed: through datasets in functions, constants and checks.
FOLLOWED = {
    "kiln_curve_checked",
    "kiln_curve_dumped",
    "pixel_means_large",
    "rain_epoch_loop",
    "rain_epoch_quiet",
    "rare_bird_weights",
    "tide_gauge_sum",
    "volume_check_caught",
    "volume_check_session",
}


def shorter() -> Iterator[Any]:
    known: set[str] = set()
    for program in sorted(programs([]), key=needs):  # those that every machine can run first
        causes = {cause for _, cause in MARK.findall(program.read_text())}
        if not causes or not causes <= known or program.stem in FOLLOWED:
            yield program
        known |= causes


@pytest.fixture(scope="module")
def warm_for_transformers() -> Iterator[WarmPython]:
    """What programs that use Hugging Face's models set before they import TensorFlow."""
    python = WarmPython(TF_USE_LEGACY_KERAS="1")
    yield python
    python.close()


@pytest.mark.parametrize("program", every(shorter()))
def test_verdict(
    program: Path, request: pytest.FixtureRequest, tmp_path: Path, record_property: pytest.RecordProperty
) -> None:
    of_transformers = "transformers" in needs(program)

    def run(program: Path, logdir: Path) -> tuple[int, str]:
        warm = request.getfixturevalue("warm_for_transformers") if of_transformers else shared()
        recorded = run_folder.create(logdir, [str(program)])
        ran = warm.run(program, env={"SLEUTH_RUN": str(recorded)})
        run_folder.write_end(recorded, ran.returncode, None)
        return ran.returncode, ran.stderr

    own = "os.environ" in program.read_text() and not of_transformers  # TensorFlow reads it while it is imported
    found = score(program, tmp_path, run_whole if own else run)
    judge(found, record_property)
    if found.healthy and needs(program):
        assert not found.unasked, "a model of a library, used as it is meant to be: there is nothing to note"


@pytest.mark.long
@pytest.mark.parametrize("program", every(programs([])))
def test_verdict_of_sleuth_run(program: Path, tmp_path: Path, record_property: pytest.RecordProperty) -> None:
    judge(score(program, tmp_path, run_whole), record_property)


def judge(found: Score, record_property: pytest.RecordProperty) -> None:
    record_property("score", asdict(found))
    assert not found.trouble
    assert not found.unsaid
    assert found.line and found.cause and not found.false_alarm, str(found)
