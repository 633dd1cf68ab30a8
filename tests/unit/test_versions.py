"""A run that another version of tensorsleuth wrote is told as that, and not as damaged."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.unit import little_run

from tensorsleuth import __version__
from tensorsleuth.cli.main import cli
from tensorsleuth.trace.reader import Trace
from tensorsleuth.trace.storage import journal

VERSION, ROW_SIZE = 8, 12  # bytes of the header where they stand


def change(run: Path, at: int, number: int, said: str | None) -> None:
    (folder,) = run.glob("p-*")
    with open(folder / "events.bin", "r+b") as file:
        file.seek(at)
        file.write(struct.pack("<I", number))
    if said is not None:
        catalogue = journal.Journal(folder / "catalog.journal", 1 << 20)
        catalogue.append("meta", {"tensorsleuth": said})
        catalogue.close()


@pytest.mark.parametrize(
    ("at", "number", "said", "writer", "differs"),
    [
        (ROW_SIZE, 160, "9.3.1", "tensorsleuth 9.3.1, and", "events.bin has rows of 160 bytes, not "),
        (ROW_SIZE, 160, __version__, f"another build of tensorsleuth {__version__}, and", "rows of 160 bytes"),
        (VERSION, 2, None, "another version of tensorsleuth, which does not say", "events.bin has format 2, not 1"),
    ],
)
def test_who_wrote_it_who_reads_and_what_to_do(
    tmp_path: Path, at: int, number: int, said: str | None, writer: str, differs: str
) -> None:
    run = little_run.write(tmp_path / "run", tmp_path / "train.py")
    change(run, at, number, said)
    (line,) = Trace(run).trouble
    assert f"was written by {writer}" in line and f"this is {__version__}," in line and differs in line
    assert (
        line.endswith("Read it with the version that wrote it, or record the program again") and "damaged" not in line
    )
    done = CliRunner().invoke(cli, ["why", str(run)])
    assert (
        done.exit_code == 2
        and "cannot be read" in done.output
        and writer.split(",")[0] in " ".join(done.output.split())
    )


def test_nonsense_is_damage(tmp_path: Path) -> None:
    run = little_run.write(tmp_path / "run", tmp_path / "train.py")
    change(run, ROW_SIZE, 0xFFFFFFF1, None)
    assert "is damaged: its rows are said to be 4294967281 bytes" in Trace(run).trouble[0]


def test_the_version_is_that_of_the_package() -> None:
    project = Path(__file__).parents[2] / "pyproject.toml"
    assert f'\nversion = "{__version__}"\n' in project.read_text()
