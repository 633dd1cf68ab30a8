"""Run folders: named, described, listed and found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.trace.storage.files import write_atomically


def make(logdir: Path, name: str, started: float) -> Path:
    run = logdir / name
    run.mkdir(parents=True)
    (run / "run.json").write_text(json.dumps({"version": 1, "started": started, "program": [name]}))
    return run


@pytest.fixture
def three(tmp_path: Path) -> Path:
    for number, name in enumerate(["20250101-100000-train", "20250101-100000-train-2", "20250102-100000-eval"]):
        make(tmp_path, name, 1000.0 + number)
    return tmp_path


def test_logdir_is_the_option_then_the_environment_then_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLEUTH_LOGDIR", "from_environment")
    assert run_folder.logdir("given") == Path("given")
    assert run_folder.logdir(None) == Path("from_environment")
    monkeypatch.delenv("SLEUTH_LOGDIR")
    assert run_folder.logdir(None) == Path("sleuth_runs")


@pytest.mark.parametrize(
    ("program", "stem"),
    [
        (["train.py", "--x"], "train"),
        (["./a/b/my train.v2.py"], "my-train.v2"),
        (["größe ☃.py"], "größe"),
        (["-m", "pkg.mod"], "pkg.mod"),
        (["-c", "print()"], "command"),
        (["-"], "stdin"),
        ([], "python"),
        (["..."], "program"),
        (["x" * 300 + ".py"], "x" * 60),
        (["\udcff\n/evil\x1b.py"], "evil"),
    ],
)
def test_stem(program: list[str], stem: str) -> None:
    assert run_folder.program_stem(program) == stem


def test_create_describes_the_run(tmp_path: Path) -> None:
    before = time.time()
    run = run_folder.create(tmp_path / "new" / "logdir", ["train.py", "--epochs", "3"])
    meta = json.loads((run / "run.json").read_text())
    assert meta["program"] == ["train.py", "--epochs", "3"] and meta["cwd"] == os.getcwd()
    assert meta["pid"] == os.getpid() and meta["python"] == sys.executable and meta["ended"] is None
    assert before <= meta["started"] <= time.time() and run.is_absolute()
    assert os.listdir(run) == ["run.json"]


def test_runs_of_one_second_get_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_700_000_000.0)
    names = [run_folder.create(tmp_path, ["train.py"]).name for _ in range(3)]
    assert names == [names[0], f"{names[0]}-2", f"{names[0]}-3"]


def test_pid_and_end_are_added(tmp_path: Path) -> None:
    run = run_folder.create(tmp_path, ["train.py"])
    run_folder.write_pid(run, 42)
    run_folder.write_end(run, None, "SIGKILL")
    meta = run_folder.read_meta(run)
    assert (meta["pid"], meta["program"]) == (42, ["train.py"])
    assert (meta["ended"]["exit"], meta["ended"]["signal"]) == (None, "SIGKILL")


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", "\x00\xff", "[" * 100_000, '{"version": 1'])
def test_corrupt_meta_is_empty(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    assert run_folder.read_meta(tmp_path) == {}


def test_meta_of_the_wrong_types_is_left_out(tmp_path: Path) -> None:
    assert run_folder.read_meta(tmp_path) == {}
    hostile = {
        "version": "x",
        "program": ["a", 1],
        "pid": [],
        "started": {},
        "ended": 3,
        "cwd": "/",
        "more": 1,
    }
    (tmp_path / "run.json").write_text(json.dumps(hostile))
    assert run_folder.read_meta(tmp_path) == {"cwd": "/"}


def test_list_is_newest_first_and_holds_runs_only(three: Path) -> None:
    (three / "notes").mkdir()
    (three / "file").write_text("")
    (three / "bare" / "p-1").mkdir(parents=True)
    names = [run.name for run in run_folder.list_runs(three)]
    assert names == ["bare", "20250102-100000-eval", "20250101-100000-train-2", "20250101-100000-train"]
    assert run_folder.list_runs(three / "nowhere") == []


def test_list_of_a_file_is_an_error(three: Path) -> None:
    (three / "file").write_text("")
    with pytest.raises(SleuthError, match=r"cannot read the log directory .*file: Not a directory"):
        run_folder.list_runs(three / "file")


@pytest.mark.parametrize(
    ("query", "name"),
    [
        (None, "20250102-100000-eval"),
        ("20250102", "20250102-100000-eval"),
        ("20250101-100000-train", "20250101-100000-train"),
        ("20250101-100000-train-", "20250101-100000-train-2"),
    ],
)
def test_find(three: Path, query: str | None, name: str) -> None:
    assert run_folder.find(three, query).name == name


def test_find_by_path(three: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    run = make(tmp_path_factory.mktemp("elsewhere"), "other", 1.0)
    assert run_folder.find(three, str(run)) == run


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("2025", ["'2025' could be 3 runs", "20250102-100000-eval, 20250101-100000-train-2", "Type more"]),
        ("nope", ["no run 'nope' in", "20250102-100000-eval", "sleuth runs"]),
        ("", ["could be 3 runs"]),
        ("/", ["'/' is a folder but not a run", "run.json", "sleuth runs"]),
    ],
)
def test_find_says_what_is_there(three: Path, query: str, parts: list[str]) -> None:
    with pytest.raises(SleuthError) as caught:
        run_folder.find(three, query)
    assert all(part in str(caught.value) for part in parts)


def test_find_in_an_empty_place_teaches(tmp_path: Path) -> None:
    for query in (None, "x"):
        with pytest.raises(SleuthError, match=r"no run .*Make one: sleuth run program.py"):
            run_folder.find(tmp_path, query)


def test_long_lists_are_cut(tmp_path: Path) -> None:
    for number in range(9):
        make(tmp_path, f"run-{number}", 1.0)
    with pytest.raises(SleuthError, match="and 4 more"):
        run_folder.find(tmp_path, "nope")


def test_who_reads_a_file_that_is_written_again_finds_all_of_one(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    write_atomically(file, "the first")
    with file.open() as reader:
        write_atomically(file, "the second")
        assert reader.read() == "the first"
    assert file.read_text() == "the second" and list(tmp_path.iterdir()) == [file]


def test_alive(tmp_path: Path) -> None:
    run = run_folder.create(tmp_path, ["x.py"])
    assert run_folder.is_alive(run)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    run_folder.write_pid(run, ended.pid)
    assert not run_folder.is_alive(run)


def test_a_number_that_was_given_out_again_is_not_alive(tmp_path: Path) -> None:
    run = run_folder.create(tmp_path, ["x.py"])
    meta = {**run_folder.read_meta(run), "started": 1000.0}
    (run / "run.json").write_text(json.dumps(meta))
    assert not run_folder.is_alive(run)


@pytest.mark.parametrize("pid", [0, -1, 10**30])
def test_a_hostile_pid_is_not_alive(tmp_path: Path, pid: int) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"pid": pid}))
    assert not run_folder.is_alive(tmp_path)


def test_foreign_files(three: Path) -> None:
    run = run_folder.find(three, None)
    for name in ("p-1", "tensorflow.seen", "thesis.tex"):
        (run / name).write_text("")
    assert run_folder.foreign_files(run) == ["thesis.tex"]


def test_programs_join_a_run_by_its_name(tmp_path: Path) -> None:
    first = run_folder.join(tmp_path / "runs", "mnist", ["worker.py", "0"])
    second = run_folder.join(tmp_path / "runs", "mnist", ["worker.py", "1"])
    assert first == second == tmp_path / "runs" / "mnist"
    assert run_folder.read_meta(first)["program"] == ["worker.py", "0"]
    assert not run_folder.is_alive(first)  # nobody has recorded
    (first / f"p-{time.time_ns()}-{os.getpid()}").mkdir()
    assert run_folder.is_alive(first)


def test_of_joined_programs_the_one_that_failed_is_told(tmp_path: Path) -> None:
    run = run_folder.join(tmp_path, "mnist", ["worker.py"])
    run_folder.write_end(run, None, "SIGKILL")
    run_folder.write_end(run, 0)
    assert run_folder.read_meta(run)["ended"]["signal"] == "SIGKILL"


@pytest.mark.parametrize("name", ["", "a/b", "..", "-x"])
def test_a_name_that_cannot_be_joined(tmp_path: Path, name: str) -> None:
    with pytest.raises(SleuthError, match="cannot be the name of a run"):
        run_folder.join(tmp_path, name, ["worker.py"])


def test_what_is_not_a_run_is_not_joined(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "me.jpg").touch()
    with pytest.raises(SleuthError, match="is not a run"):
        run_folder.join(tmp_path, "photos", ["worker.py"])
