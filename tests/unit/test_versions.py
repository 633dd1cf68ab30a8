"""A run that another version of tensorsleuth wrote is told as that, and not as damaged."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.unit import little_run

import tensorsleuth
from tensorsleuth import __version__
from tensorsleuth.cli.main import cli
from tensorsleuth.core.version import TRACE_FORMAT
from tensorsleuth.trace.reader import Trace
from tensorsleuth.trace.storage import journal, run_folder

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
        (ROW_SIZE, 160, "0.0.9", "tensorsleuth 0.0.9, and", "events.bin has rows of 160 bytes, not "),
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
    opens_it = {"9.3.1": "tensorsleuth 9.3.1 or newer", "0.0.9": "tensorsleuth 0.0.9"}.get(
        str(said), "the version that wrote it"
    )
    assert line.endswith(f"Read it with {opens_it}, or record the program again") and "damaged" not in line
    done = CliRunner().invoke(cli, ["why", str(run)])
    assert (
        done.exit_code == 2
        and "cannot be read" in done.output
        and writer.split(",")[0] in " ".join(done.output.split())
    )


def say_in_catalogue(run: Path, fields: dict[str, Any]) -> None:
    """Put fields into the first record of the catalogue."""
    (path,) = run.glob("p-*/catalog.journal")
    records = [record for record in journal.read_records(path.read_bytes()) if isinstance(record, tuple)]
    path.unlink()
    catalogue = journal.Journal(path, 1 << 20)
    for number, (kind, there) in enumerate(records):
        catalogue.append(kind, there | fields if number == 0 else there)
    catalogue.close()


def say_in_run_json(run: Path, fields: dict[str, Any]) -> None:
    meta = run / run_folder.META_FILE
    meta.write_text(json.dumps(json.loads(meta.read_text()) | fields))


@pytest.mark.parametrize(
    ("say", "name"),
    [(say_in_catalogue, "catalog.journal"), (say_in_run_json, run_folder.META_FILE)],
    ids=["process", "run"],
)
def test_a_newer_format_is_refused_and_says_which_version_opens_it(
    tmp_path: Path, say: Callable[[Path, dict[str, Any]], None], name: str
) -> None:
    run = little_run.write(tmp_path / "run", tmp_path / "train.py")
    say(run, {"version": TRACE_FORMAT + 1, "tensorsleuth": "2.7.0"})
    trace = Trace(run)
    (line,) = trace.trouble
    assert f"{name} has format {TRACE_FORMAT + 1}, not {TRACE_FORMAT}" in line
    assert line.endswith("Read it with tensorsleuth 2.7.0 or newer, or record the program again")
    assert not len(trace.events) and not trace.not_covered, "nothing of it is guessed at"
    done = CliRunner().invoke(cli, ["why", str(run)])
    assert done.exit_code == 2 and "tensorsleuth 2.7.0 or newer" in " ".join(done.output.split())
    assert CliRunner().invoke(cli, ["runs", "--logdir", str(tmp_path)]).exit_code == 0


def test_a_recording_says_its_format_and_its_version(tmp_path: Path) -> None:
    meta = run_folder.read_meta(run_folder.create(tmp_path, ["train.py"]))
    assert (meta["version"], meta["tensorsleuth"]) == (TRACE_FORMAT, __version__)
    native = Path(tensorsleuth.__file__).parent / "native/src/files/ring.cc"
    assert f"header->version = {TRACE_FORMAT};" in native.read_text()


def test_nonsense_is_damage(tmp_path: Path) -> None:
    run = little_run.write(tmp_path / "run", tmp_path / "train.py")
    change(run, ROW_SIZE, 0xFFFFFFF1, None)
    assert "is damaged: its header says that its rows have 4294967281 bytes" in Trace(run).trouble[0]


def test_the_version_is_that_of_the_package() -> None:
    project = Path(__file__).parents[2] / "pyproject.toml"
    assert f'\nversion = "{__version__}"\n' in project.read_text()
