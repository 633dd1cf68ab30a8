"""Traces that earlier versions recorded still open, and give the verdict that they gave then (docs/stability.md)."""

from __future__ import annotations

import inspect
import json
import math
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import tensorsleuth
from tensorsleuth.cli.main import cli
from tensorsleuth.trace.reader import Trace

KEPT = Path(__file__).parents[1] / "traces"
VERSIONS = sorted(folder.name for folder in KEPT.iterdir() if folder.is_dir())
STABLE = ("cause", "severity", "file", "line", "function", "code", "op", "name", "step", "iteration")  # not the words


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def run(tmp_path: Path, version: str) -> Path:
    with zipfile.ZipFile(KEPT / version / "train.zip") as packed:
        packed.extractall(tmp_path)
    return next(path for path in tmp_path.iterdir() if path.is_dir())


@pytest.fixture
def said_then(version: str) -> dict[str, Any]:
    said: dict[str, Any] = json.loads((KEPT / version / "why.json").read_text())
    return said


def test_a_trace_of_each_version_is_kept_and_is_small() -> None:
    assert "0.1" in VERSIONS
    assert all((KEPT / version / "train.zip").stat().st_size < 100_000 for version in VERSIONS)


def test_it_opens_without_trouble(run: Path, version: str) -> None:
    trace = Trace(run)
    assert trace.trouble == [] and len(trace.processes) == 1
    assert str(trace.processes[0].catalogue.meta["tensorsleuth"]).startswith(f"{version}.")


def test_it_gives_the_verdict_that_it_gave_then(run: Path, said_then: dict[str, Any]) -> None:
    done = CliRunner().invoke(cli, ["why", "--json", str(run)])
    assert done.exit_code == 1
    found, then = (said["findings"] for said in (json.loads(done.stdout), said_then))
    assert [{key: one[key] for key in STABLE} for one in found] == [{key: one[key] for key in STABLE} for one in then]
    assert (found[0]["cause"], found[0]["line"], found[0]["step"]) == ("learning-rate", 15, 1)


def test_its_rows_values_and_series_are_there(run: Path) -> None:
    trace = Trace(run)
    (log,) = trace.tensors(op="Log", step=1)
    assert log.shape == (3, 2) and log.health["neg_inf"] == 3
    assert log.value is not None and (log.value == -math.inf).sum() == 3
    assert [(series.name, len(series)) for series in trace.watched()] == [("weights", 4)]
    assert "tf.math.log(probabilities)" in trace.processes[0].catalogue.sources["/srv/ada/model/train.py"]


def test_files_may_come_and_go(run: Path) -> None:
    (process,) = run.glob("p-*")
    (process / "of_a_later_version.bin").write_bytes(b"SLEUTHRG")
    for name in ("memory", "buffers", "passed", "threads", "inside", "watched"):
        (process / f"{name}.bin").unlink()
    assert Trace(run).trouble == []
    assert CliRunner().invoke(cli, ["why", str(run)]).exit_code == 1
    done = CliRunner().invoke(cli, ["memory", str(run)])
    assert done.exit_code == 2 and "has no samples of its memory" in done.output


def test_no_field_of_its_json_has_gone(run: Path, said_then: dict[str, Any]) -> None:
    said_now = json.loads(CliRunner().invoke(cli, ["why", "--json", str(run)]).stdout)
    assert said_now["version"] == said_then["version"]
    assert [path for path in fields_of(said_then) if path not in set(fields_of(said_now))] == []


def test_no_public_name_or_parameter_has_gone(version: str) -> None:
    then: dict[str, list[str]] = json.loads((KEPT / version / "api.json").read_text())
    assert {*then} <= {*tensorsleuth.__all__}
    called = {name: parameters for name, parameters in then.items() if parameters}
    now = {name: {*inspect.signature(getattr(tensorsleuth, name)).parameters} for name in called}
    assert {name: {*parameters} - now[name] for name, parameters in called.items() if {*parameters} - now[name]} == {}


def fields_of(value: Any, path: str = "") -> Iterator[str]:
    """Every key in a JSON value, as `.findings[].line`."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield f"{path}.{key}"
            yield from fields_of(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from fields_of(inner, f"{path}[]")
