"""The commands, called in this process."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from tensorsleuth.cli import command_table
from tensorsleuth.cli.commands import rm
from tensorsleuth.cli.doctor import machine
from tensorsleuth.cli.doctor.check import CheckState
from tensorsleuth.cli.main import cli
from tensorsleuth.core import formatting
from tensorsleuth.core.exit_status import ExitStatus
from tensorsleuth.core.modes import Mode
from tensorsleuth.trace.run_summary import RunSummary
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.ui.terminal import closing_lines
from tensorsleuth.ui.terminal.runs_table import runs_table


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLEUTH_LOGDIR", raising=False)
    return tmp_path


def sleuth(*arguments: str, **options: object) -> Result:
    return CliRunner().invoke(cli, arguments, **options)  # type: ignore[arg-type]


def make_run(program: str = "train.py", logdir: str = "sleuth_runs", ended: bool = True) -> Path:
    run = run_folder.create(Path(logdir), [program, "--epochs", "3"])
    if ended:
        run_folder.write_end(run, 0)
    return run


def outlined(steps: int = 0, events: int = 0, bad: int = 0) -> RunSummary:
    return RunSummary(
        "20250101-100000-train", Path("x"), "train.py", 1000.0, "exit 0", 41.0, steps, events, 0, 0, bad, 1
    )


# ---- the frame


@pytest.mark.parametrize("name", command_table.COMMAND_NAMES)
def test_every_command_teaches_with_an_example(name: str) -> None:
    said = sleuth(name, "--help").output
    assert f"\n  sleuth {name}" in said and ("--logdir" in said or name == "data")  # which is about files, not runs


def test_help_names_every_command() -> None:
    said = sleuth("--help").output
    assert all(f"\n  {name} " in said for name in command_table.COMMAND_NAMES)


def test_version_and_unknown_command() -> None:
    assert sleuth("--version").output.startswith("tensorsleuth")
    wrong = sleuth("rum")
    assert wrong.exit_code == 2 and "No such command 'rum'" in wrong.output


def test_interrupt_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(logdir: Path) -> list[Path]:
        raise KeyboardInterrupt

    monkeypatch.setattr(run_folder, "list_runs", interrupt)
    assert sleuth("runs").exit_code == 130


def test_errors_are_one_sentence() -> None:
    result = sleuth("info")
    assert result.exit_code == 2
    assert result.stderr == f"sleuth: no run in {Path.cwd() / 'sleuth_runs'} yet. Make one: sleuth run program.py\n"


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from tensorsleuth.cli.main import cli;"
        "CliRunner().invoke(cli, ['--help']);"
        "print({'numpy', 'tensorflow', 'rich', 'sqlite3'} & set(sys.modules))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_nothing_is_collected_when_a_command_ends() -> None:
    """The interpreter looks for garbage as it ends, which would take a tenth of `sleuth why`."""
    code = (
        "import atexit, gc, sys\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 1000, len(gc.get_objects()) < 1000))\n"
        "from tensorsleuth.cli.main import main; main()"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code, "--version"], env=environment, capture_output=True, text=True)
    assert done.stdout.endswith("True True\n")


def test_closed_pipe_is_quiet() -> None:
    make_run()
    code = "from tensorsleuth.cli.main import main; main()"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-c", code, "runs"], env=environment, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert done.stderr == b"" and done.returncode != 0


# ---- runs and info


def test_runs_of_an_empty_place_teach() -> None:
    result = sleuth("runs")
    assert result.exit_code == 0 and "No run in" in result.stderr and "sleuth run train.py" in result.stderr
    assert json.loads(sleuth("runs", "--json").stdout) == []


def test_runs_fit_80_columns_with_whole_names() -> None:
    runs = [make_run(), make_run("a_program_with_quite_a_long_name_indeed.py")]
    said = sleuth("runs").stdout
    assert max(map(len, said.splitlines())) <= 80
    assert runs[0].name in said and "exit 0" in said
    for title in ("run", "program", "age", "ended", "steps", "events", "size", "values"):
        assert title in said.splitlines()[0]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_runs_say_their_mode(width: int) -> None:
    modes = {"a": Mode.FULL_HEALTH, "b": Mode.SHAPE, "c": Mode.CURT_HEALTH}
    runs = [replace(outlined(5, 100), name=f"20250101-100000-{name}", mode=mode) for name, mode in modes.items()]
    out = io.StringIO()
    Console(file=out, width=width).print(runs_table(runs, 2000.0, width))
    said = out.getvalue()
    assert max(map(len, said.splitlines())) <= width and all(run.name in said for run in runs)
    assert "not recorded" in said and said.count("none bad") == 2
    if width >= 100:
        assert [mode.name in line for mode, line in zip(modes.values(), said.splitlines()[1:])] == [True] * 3
    else:
        folded = " ".join(said.split())
        assert "mode FULL_HEALTH, but SHAPE: 20250101-100000-b; CURT_HEALTH: 20250101-100000-c" in folded


def test_runs_as_json() -> None:
    run = make_run(logdir="else")
    (listed,) = json.loads(sleuth("runs", "--json", "--logdir", "else").stdout)
    assert listed["name"] == run.name and listed["ended"] == "exit 0" and listed["path"] == str(run)
    assert set(listed) == set(RunSummary.__dataclass_fields__)


def test_info_takes_the_latest_a_name_a_prefix_or_a_path() -> None:
    run = make_run()
    for words in ([], [run.name], [run.name[:8]], [str(run)]):
        result = sleuth("info", *words)
        assert result.exit_code == 0 and "train.py --epochs 3" in result.stdout and run.name in result.stdout
    assert json.loads(sleuth("info", "--json").stdout)["argv"] == ["train.py", "--epochs", "3"]


def empty_run(ended: dict[str, object] | None = None, seen: bool = False) -> Path:
    run = run_folder.create(Path("sleuth_runs"), ["train.py"])
    if ended is not None:
        run_folder.write_end(run, **ended)  # type: ignore[arg-type]
    if seen:
        (run / run_folder.TENSORFLOW_SEEN_FILE).touch()
    return run


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (
            {"ended": {"exit_code": 3}},
            "ended with exit code 3 and had not imported TensorFlow. Its stderr says",
        ),
        ({"ended": {"exit_code": 0}}, "exit code 0 and had not imported TensorFlow. Name the program that computes: "),
        ({"ended": {"exit_code": None, "signal_name": "SIGKILL"}}, "was killed by SIGKILL and had not imported"),
        ({"ended": {"exit_code": 1}, "seen": True}, "recording did not start. The reason is on the program's stderr"),
        ({}, "TensorFlow has not computed anything so far. Try again later."),
    ],
)
def test_why_of_a_run_that_holds_nothing(run: dict[str, Any], said: str) -> None:
    empty_run(**run)
    done = sleuth("why")
    assert done.exit_code == 2 and done.output.startswith(" UNKNOWN Nothing ")
    assert said in " ".join(done.output.split()) and "sleuth view" not in done.output
    told = json.loads(sleuth("why", "--json").output)
    assert told["verdict"] == "unknown" and said in told["unjudged"]


def test_a_hostile_run_costs_nothing() -> None:
    run = make_run()
    (run / "run.json").write_text(json.dumps({"program": ["\x1b[2J\udcff"], "started": 1e300, "ended": {"time": "x"}}))
    for name in ("runs", "info"):
        result = sleuth(name)
        assert result.exit_code == 0 and "\x1b[2J" not in result.stdout


# ---- rm


def test_rm_deletes_after_yes() -> None:
    runs = [make_run("a.py"), make_run("b.py"), make_run("c.py")]
    assert sleuth("rm", "--yes", runs[0].name, str(runs[1])).exit_code == 0
    assert [run.exists() for run in runs] == [False, False, True]
    assert sleuth("rm", "--all", "--yes").exit_code == 0 and run_folder.list_runs(Path("sleuth_runs")) == []


def test_rm_without_a_terminal_asks_for_yes() -> None:
    run = make_run()
    result = sleuth("rm", run.name)
    assert result.exit_code == 2 and "add --yes" in result.stderr and run.exists()


@pytest.mark.parametrize(("answer", "left"), [("n\n", True), ("y\n", False)])
def test_rm_asks_on_a_terminal(monkeypatch: pytest.MonkeyPatch, answer: str, left: bool) -> None:
    run = make_run()
    monkeypatch.setattr(rm, "_interactive", lambda: True)
    result = sleuth("rm", "--all", input=answer)
    assert "Delete this run?" in result.output and run.exists() is left


def test_rm_refuses(place: Path) -> None:
    alive, dirty = make_run("alive.py", ended=False), make_run("dirty.py")
    (dirty / "thesis.tex").write_text("")
    (place / "home").mkdir()
    os.symlink(dirty, place / "link")
    for words, said in (
        (["home"], "is a folder but not a run"),
        ([str(alive)], f"still running (pid {os.getpid()})"),
        ([str(dirty)], "holds 'thesis.tex'"),
        (["link", "--force"], "is a link"),
        ([], "say which runs"),
        (["--all", dirty.name], "say which runs"),
    ):
        result = sleuth("rm", "--yes", *words)
        assert result.exit_code == 2 and said in result.stderr
    assert alive.exists() and (dirty / "thesis.tex").exists()
    assert sleuth("rm", "--yes", "--force", str(alive), str(dirty)).exit_code == 0 and not alive.exists()


# ---- doctor

HEALTHY = {
    "tensorflow": {"version": "2.21.0", "file": "/x/tensorflow/__init__.py", "devices": ["CPU"]},
    "native": "avx2",
}


@pytest.mark.parametrize(
    ("facts", "said", "code"),
    [
        (HEALTHY, "Ready", 0),
        ({**HEALTHY, "native": None} | {"native_error": "OSError: gone"}, "Ready", 0),
        (
            {"tensorflow_error": "ModuleNotFoundError: No module named 'tensorflow'"},
            "pip install tensorflow",
            1,
        ),
        ({"tensorflow": {"version": "2.9.1", "file": "x", "devices": []}}, "2.9.1 is too old", 1),
        ({"tensorflow_error": "importing it ended the process (signal 11)"}, "signal 11", 1),
    ],
)
def test_doctor(monkeypatch: pytest.MonkeyPatch, facts: dict[str, object], said: str, code: int) -> None:
    monkeypatch.setattr(machine, "tensorflow_facts", lambda: facts)
    result = sleuth("doctor")
    assert result.exit_code == code and said in result.stdout and "Not covered" in result.stdout
    listed = json.loads(sleuth("doctor", "--json").stdout)
    assert listed["ready"] is (code == 0) and listed["covered"] and listed["not_covered"]


def test_doctor_survives_a_tensorflow_that_crashes(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "tensorflow.py").write_text("import os; os.abort()")
    monkeypatch.setenv("PYTHONPATH", str(place))
    assert machine.tensorflow_facts() == {"tensorflow_error": "importing it ended the process (signal 6)"}


def test_doctor_sees_a_log_directory_that_cannot_be_written(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "tensorflow_facts", lambda: HEALTHY)
    (place / "taken").write_text("")
    states = {check.name: check.state for check in machine.machine_checks(place / "taken" / "runs")}
    assert states["log directory"] is CheckState.BAD and states["TensorFlow"] is CheckState.GOOD


# ---- sentences


@pytest.mark.parametrize(
    ("status", "seconds", "sentence"),
    [
        (0, 41.2, "train.py finished (exit 0) in 41 s · 500 steps · 301,422 tensors watched"),
        (3, 0.31, "train.py failed (exit 3) after 0.3 s · 500 steps · 301,422 tensors watched"),
        (-9, 7.0, "train.py was killed by SIGKILL after 7.0 s · 500 steps · 301,422 tensors watched"),
        (
            -40,
            3700.0,
            "train.py was killed by signal 40 after 1 h 1 min · 500 steps · 301,422 tensors watched",
        ),
    ],
)
def test_closing_sentence(status: int, seconds: float, sentence: str) -> None:
    assert (
        closing_lines.closing_sentence("train.py", ExitStatus(status, seconds), outlined(steps=500, events=301_422))
        == sentence
    )


@pytest.mark.parametrize(("width", "lines"), [(40, 6), (80, 3), (140, 1)])
def test_hints_fit_the_terminal(width: int, lines: int) -> None:
    ways = {"sleuth view": "see it in the browser", "sleuth debug": "walk it in the terminal"}
    ways |= {"sleuth why --all --logdir runs": "every finding"}
    said = closing_lines.command_hints(ways, width).splitlines()
    assert len(said) == lines and all(len(line) <= width for line in said)
    assert all(name in "".join(said) for name in ways)


@pytest.mark.parametrize("width", [40, 80, 100])
@pytest.mark.parametrize("many", [2, 301_422, 30_142_200])
def test_closing_sentence_fits_the_terminal(many: int, width: int) -> None:
    numbers = outlined(steps=12_500, events=many, bad=4_542)
    whole = closing_lines.closing_sentence("digits_mlp.py", ExitStatus(-9, 410.0), numbers)
    lines = f" sleuth  {closing_lines.fold_sentence(whole, width)}".splitlines()
    wide = {40: 42}.get(width, width)  # how it ended is not broken
    assert all(len(line) <= max(wide, len(line.split(" · ")[0])) for line in lines) and len(lines) > (width < 100)
    assert " · ".join(line[9:] for line in lines) == whole


def test_closing_sentence_without_numbers() -> None:
    assert (
        closing_lines.closing_sentence("train.py", ExitStatus(0, 200.0), outlined())
        == "train.py finished (exit 0) in 3 min 20 s · 0 tensors watched"
    )
    assert "1 step · 1 tensor watched · 1 bad one" in closing_lines.closing_sentence(
        "x", ExitStatus(0, 1.0), outlined(steps=1, events=1, bad=1)
    )


def test_amounts() -> None:
    assert [formatting.size(number) for number in (0, 999, 1500, 31_200_000, 10**30)][:4] == [
        "0 B",
        "999 B",
        "1.5 kB",
        "31 MB",
    ]
    assert [formatting.short_count(number) for number in (None, 7, 9999, 301_422, 999_999)] == [
        "–",
        "7",
        "9,999",
        "301k",
        "1.0M",
    ]
    assert [formatting.age(1000.0, 1000.0 + later) for later in (5, 65, 7300, 200_000)] == [
        "5 s",
        "1 min",
        "2 h",
        "2 d",
    ]
    assert formatting.local_time(1e300) == formatting.local_time(0.0) == "–"
    assert formatting.local_time(time.time()).startswith("20")
