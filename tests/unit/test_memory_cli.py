"""`sleuth memory` where there is little to say: old traces, moments that there are not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from click.testing import CliRunner
from tests.unit import little_run

from tensorsleuth.analyze.memory.batch_size.fit_report import FitReport, parse_bytes, rounded_if_far
from tensorsleuth.analyze.memory.batch_size.peak_model import PeakModel
from tensorsleuth.cli.main import cli
from tensorsleuth.core.formatting import fine_size
from tensorsleuth.core.layout.rows import BUFFER, MEMORY, BufferKind
from tensorsleuth.trace.storage.synthetic import _write_ring

MB = 1_000_000
SECOND = 1_000_000_000


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return little_run.write(tmp_path / "old", tmp_path / "program.py")


def asked(run: Path, *options: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["memory", str(run), *options])
    return result.exit_code, result.output


def with_memory(run: Path, resident: list[int], buffers: Sequence[tuple[int, int, int, int, int]] = ()) -> Path:
    """Adds a sample a second; and buffers: second, kind, address, bytes, uid."""
    (folder,) = run.glob("p-*")
    samples, rows = np.zeros(len(resident), MEMORY), np.zeros(len(buffers), BUFFER)
    samples["time"] = np.arange(1, len(resident) + 1) * SECOND
    samples["resident"] = samples["anonymous"] = samples["allocated"] = resident
    samples["step"] = np.arange(len(resident)) - 1
    samples["kind"] = 1
    for row, (second, kind, address, size, uid) in zip(rows, buffers, strict=True):
        row["time"], row["kind"], row["address"], row["bytes"] = second * SECOND + 1, int(kind), address, size
        row["iteration"], row["dtype"] = uid, 1
    _write_ring(folder / "memory.bin", MEMORY, len(samples), 0, lambda a, b: samples[a:b])
    if buffers:
        _write_ring(folder / "buffers.bin", BUFFER, len(rows), 0, lambda a, b: rows[a:b])
    return run


def test_an_old_trace_says_what_to_do(run: Path) -> None:
    code, said = asked(run)
    assert code == 2
    assert "old has no samples of its memory" in said and "sleuth run program.py" in said


def test_samples_without_tensors_are_still_a_curve(run: Path) -> None:
    code, said = asked(with_memory(run, [500 * MB, 900 * MB, 700 * MB]))
    assert code == 0
    assert "900 MB resident at most" in said and "400 MB more than when recording began" in said
    assert "0 B    0%  tensors that were alive" in said


def test_a_reused_address_ends_what_was_there(run: Path) -> None:
    eager, freed = BufferKind.EAGER, BufferKind.FREED
    buffers = [
        (1, eager, 0x1000000, 100 * MB, 7),  # its end was lost
        (2, eager, 0x1000040, 50 * MB, 8),  # lies in the first: a part of it
        (2, freed, 0x1000040, 50 * MB, 8),
        (3, eager, 0x0F00000, 200 * MB, 9),  # covers it: the first must be gone
    ]
    found = with_memory(run, [500 * MB, 600 * MB, 600 * MB, 700 * MB], buffers)
    assert " 100 MB  100%  tensors that were alive" in asked(found, "--at", "1.5")[1]
    assert " 200 MB  100%  tensors that were alive" in asked(found, "--at", "3")[1]


@pytest.mark.parametrize(
    ("at", "says"),
    [
        ("soon", "--at soon: expected seconds since recording began (2.5), or a step (step3)."),
        ("9", "--at 9: the recording goes from 0 to 2.00 seconds."),
        ("step 9", "No sample was taken in step 9; the samples are from steps 0 to 1"),
    ],
)
def test_moments_that_there_are_not(run: Path, at: str, says: str) -> None:
    code, said = asked(with_memory(run, [500 * MB, 900 * MB, 700 * MB]), "--at", at)
    assert code == 2 and says in " ".join(said.split())


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--limit", "12GB"], "--limit, --batch and --sequence need --fit: add it"),
        (["--fit", "--by", "op"], "--by and --at describe the recorded run, --fit predicts other sizes"),
        (
            ["--fit", "--limit", "a lot"],
            "--limit a lot: expected an amount of memory, such as 12GB, 800MB or 2GiB.",
        ),
        (["--fit"], "The batch size was not found"),
    ],
)
def test_a_fit_that_cannot_be_told_says_why(run: Path, options: list[str], says: str) -> None:
    code, said = asked(with_memory(run, [500 * MB, 900 * MB]), *options)
    assert options != ["--fit"] or max(map(len, said.splitlines())) <= 80
    assert code == 2 and says in " ".join(said.replace("│", " ").split())


def test_a_fit_of_an_old_trace_says_what_to_do(run: Path) -> None:
    code, said = asked(run, "--fit")
    assert code == 2 and "has no samples of its memory" in said


@pytest.mark.parametrize(
    ("text", "bytes"), [("12GB", 12_000 * MB), ("1.5 gb", 1500 * MB), ("2GiB", 2 << 30), ("800m", 800 * MB), ("7", 7)]
)
def test_amounts_of_memory(text: str, bytes: int) -> None:
    assert parse_bytes(text) == bytes


class Bent:
    """A model whose peak bends at a batch of 32: 100 MB, 1 MB a sample up to there, then 3 MB."""

    batch, sequence, seen = 8, None, 108 * MB

    def peak(self, batch: int | None = None, sequence: int | None = None) -> int:
        many = batch or self.batch
        return 100 * MB + many * MB + 2 * MB * max(many - 32, 0)

    def largest_batch(self, limit: int, sequence: int | None = None) -> int:
        return max(batch for batch in range(1000) if batch == 0 or self.peak(batch) <= limit)


@pytest.mark.parametrize(
    ("batch", "other"), [(8, 32), (64, 64), (4, 4)]
)  # asked -> the other end of the line; 98 is far
def test_the_model_gives_the_peaks_that_are_told(batch: int, other: int) -> None:
    fitting = FitReport("run", 1, cast(PeakModel, Bent()), 330 * MB, "of the machine", batch, None)
    assert fitting.other_batch == other
    for told in (8, other):
        assert abs(fitting.fixed_bytes + told * fitting.bytes_per_sample - Bent().peak(told)) <= told


def test_a_batch_far_from_the_recorded_one_is_no_fact() -> None:
    far = FitReport("run", 1, cast(PeakModel, Bent()), 300_000 * MB, "of the machine", 8, None)
    near = FitReport("run", 1, cast(PeakModel, Bent()), 150 * MB, "of the machine", 8, None)
    assert far.sentence == "batch 8 fits; up to about batch 990, extrapolated from batch 8" and far.is_far
    assert near.sentence == "batch 8 fits; up to batch 38" and not near.is_far
    assert rounded_if_far(173_388, 32, "batch ") == "about batch 170,000" and rounded_if_far(64, 8) == "64"


def test_digits_of_what_is_multiplied() -> None:
    numbers = (0, 999, 1_126_000, 52_432_000, 149_200, 12_340_000_000)
    assert [fine_size(number) for number in numbers] == ["0 B", "999 B", "1.13 MB", "52.4 MB", "149 kB", "12.3 GB"]
