"""The zoo of the benchmark: its programs are plain programs, and its figures are compared with the bare run beside."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from bench import tables
from bench.machine import ROOT, Machine
from bench.zoo import __main__ as command
from bench.zoo.harness import limits, processes, results, samples, table, variants, watched
from bench.zoo.harness.figures import LONG, STEP, WHOLE, Figures, figures
from bench.zoo.harness.processes import ProgramFailed, Usage
from bench.zoo.harness.programs import FOLDER, PROGRAMS, Program
from bench.zoo.harness.samples import Sample, Samples

MACHINE = Machine("Some CPU", "avx2", 2, "3.11.7", "2.21.0", "2026-01-31", "abc123def", 0.1)
PROGRAM = Program("keras_mlp", 100)
START, STEP_SECONDS, PEAK = 3.0, 0.05, 500e6

by_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)


def sample(factor: float = 1.0, start: float = START, peak: float = PEAK, cpu: float | None = None) -> Sample:
    """A sample whose steps take `factor` times as long as bare ones, and `cpu` times as much processor time."""

    def usage(steps: int) -> Usage:
        wall, used = (start + steps * STEP_SECONDS * each for each in (factor, factor if cpu is None else cpu))
        return Usage(wall, used, peak)

    return Sample(PROGRAM.steps, usage(PROGRAM.steps), usage(2 * PROGRAM.steps), disk=2e6, verdict="HEALTHY")


def rounds(*of: Sample) -> dict[int, Sample]:
    return dict(enumerate(of))


def measured(default: Sample | None = None, **others: Sample) -> Figures:
    """The figures of a program that keeps its limits, unless told otherwise."""
    given = {name: sample() for name in (variants.BARE, *variants.TITLES)} | others
    given |= {"default": default} if default is not None else {}
    return figures(Samples({name: rounds(one, one, one) for name, one in given.items()}))


@pytest.fixture
def run() -> results.Run:
    return results.Run(MACHINE, {program.name: measured() for program in PROGRAMS})


def test_the_programs_are_the_files_of_the_folder() -> None:
    files = {path.stem for path in FOLDER.glob("*.py")} - {"__init__", "__main__"}
    assert files == {program.name for program in PROGRAMS} and len(PROGRAMS) == 12


@by_program
def test_a_program_is_plain(program: Program) -> None:
    tree = ast.parse(program.path.read_text())
    assert ast.get_docstring(tree)
    named = [one for node in ast.walk(tree) if isinstance(node, ast.Import) for one in node.names]
    imported = [one.name for one in named]
    imported += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert not {name.partition(".")[0] for name in imported} & {"bench", "tensorsleuth"}


@by_program
def test_a_program_takes_steps_and_its_default_is_that_of_the_benchmark(program: Program) -> None:
    calls = [node for node in ast.walk(ast.parse(program.path.read_text())) if isinstance(node, ast.Call)]
    (option,) = [
        one for one in calls if one.args and isinstance(one.args[0], ast.Constant) and one.args[0].value == "--steps"
    ]
    given = {one.arg: one.value for one in option.keywords}
    default = given["default"]
    assert isinstance(default, ast.Constant) and default.value == program.steps
    assert program.steps % program.epoch == 0 == program.quickly().steps % program.epoch
    assert 0 < program.quickly().steps <= program.steps


@by_program
def test_a_program_hides_no_module_of_python(program: Program) -> None:
    """Python puts the folder of a program in front of its path."""
    assert program.name not in sys.stdlib_module_names


def test_start_and_end_of_a_program_cancel_out() -> None:
    assert sample(start=3).step("wall") == pytest.approx(sample(start=300).step("wall")) == pytest.approx(STEP_SECONDS)
    assert sample(start=3).whole("wall") == pytest.approx(3 + PROGRAM.steps * STEP_SECONDS)


def test_figures_are_medians_over_rounds_that_are_compared_one_by_one() -> None:
    slow = [sample(2.0), sample(4.0), sample(1.0)]
    ours = [sample(2.2), sample(4.8), sample(1.5)]
    found = figures(Samples({variants.BARE: rounds(*slow), "default": rounds(*ours)}))
    assert found["variants"]["default"][STEP]["wall"] == pytest.approx(1.2)
    assert found[variants.BARE][STEP]["wall"] == pytest.approx(2 * STEP_SECONDS)
    assert found["rounds"] == 3 and found["steps"] == PROGRAM.steps


def test_a_variant_of_one_round_is_compared_with_the_bare_run_of_that_round() -> None:
    bare = rounds(sample(1.0), sample(9.0), sample(9.0))
    found = figures(Samples({variants.BARE: bare, "tfdbg2": rounds(sample(5.0))}))
    assert found["variants"]["tfdbg2"][STEP]["wall"] == pytest.approx(5)


def test_a_long_program_is_computed_from_its_start_and_its_steps() -> None:
    found = measured(sample(1.0, start=START + 1))["variants"]["default"]
    assert found[LONG]["wall"] == pytest.approx(21 / 20)
    assert found[WHOLE]["wall"] == pytest.approx(9 / 8)
    assert found[STEP]["wall"] == pytest.approx(1)


def test_a_program_that_is_long_already_is_not_made_longer() -> None:
    bare, ours = sample(start=50.0), sample(start=66.0)
    found = figures(Samples({variants.BARE: rounds(bare), "default": rounds(ours)}))
    assert found["variants"]["default"][LONG]["wall"] == found["variants"]["default"][WHOLE]["wall"]


def test_the_spread_of_bare_against_bare_is_kept() -> None:
    taken = {variants.BARE: rounds(*[sample()] * 3), variants.AGAIN: rounds(sample(0.9), sample(1.0), sample(1.2))}
    found = figures(Samples(taken))
    assert found["spread"][STEP]["wall"] == pytest.approx([0.9, 1.2])
    assert "1.000 / 1.000 (0.90–1.20 / 0.90–1.20)" in "\n".join(table.time_table(STEP, {"a": found}))


def test_steps_that_took_no_time_give_no_figure() -> None:
    found = figures(Samples({variants.BARE: rounds(sample(-1.0)), "default": rounds(sample())}))
    assert found["variants"]["default"][STEP] == found["variants"]["default"][LONG] == {"wall": None, "cpu": None}
    assert found["variants"]["default"][WHOLE]["wall"] == pytest.approx(8 / -2)
    assert "? / ?" in "\n".join(table.time_table(STEP, {"a": found}))
    miss = limits.missed({"a": found})[0]
    assert (miss.programs, miss.reason) == ("a (not measured)", limits.NO_FIGURE)


def test_a_watched_program_that_seems_faster_than_nothing_keeps_no_limit() -> None:
    found = figures(Samples({variants.BARE: rounds(sample()), "default": rounds(sample(-1.0))}))
    assert found["variants"]["default"][STEP] == {"wall": None, "cpu": None}


def test_without_a_bare_run_there_are_errors_and_no_figures() -> None:
    found = figures(Samples({"default": rounds(sample())}, {variants.BARE: "it died"}))
    assert found["variants"] == {} and "- a fails under bare: it died" in table.text(
        {"on": results.Run(MACHINE, {"a": found})}
    )


def test_the_limits_are_those_of_the_issue() -> None:
    assert limits.EACH[STEP] == {"default": 1.06, "full": 1.25, "flight": 1.03, "guard": 1.05}
    assert limits.EACH[LONG] == {"default": 1.08, "flight": 1.04}
    assert limits.MEDIAN == {STEP: {"full": 1.10}} and limits.PEAK == {"default": (1.05, 30e6)}


def test_a_run_that_keeps_its_limits_misses_none(run: results.Run) -> None:
    assert limits.missed(run.programs) == []
    assert "Every limit is kept." in table.text({"on": run})


@pytest.mark.parametrize("missing", [sample(1.07), sample(1.0, cpu=1.07)], ids=["wall", "cpu"])
def test_a_limit_has_to_be_kept_by_both_clocks(run: results.Run, missing: Sample) -> None:
    run.programs["lstm"] = measured(missing)
    (miss,) = limits.missed(run.programs)
    assert str(miss) == f"**steady step, default** (≤ 1.06 x) is missed by lstm: {limits.NO_BUDGET}"
    shown = table.text({"on": run})
    assert re.search(r"\| lstm \|.*\*\*1\.0\d0 / 1\.070\*\*", shown) and "Every limit is kept." not in shown


def test_the_median_of_the_programs_has_a_limit(run: results.Run) -> None:
    run.programs = {name: measured(full=sample(1.2)) for name in run.programs}
    (miss,) = limits.missed(run.programs)
    assert (miss.variant, miss.limit, miss.programs) == ("full", "median ≤ 1.1 x", "the median of the programs")


def test_peak_memory_has_a_limit(run: results.Run) -> None:
    assert limits.missed({"lstm": measured(sample(peak=1.05 * PEAK + 29e6))}) == []
    run.programs["lstm"] = measured(sample(peak=1.05 * PEAK + 31e6))
    (miss,) = limits.missed(run.programs)
    assert (miss.what, miss.limit, miss.programs) == ("peak memory", "≤ 1.05 x + 30 MB", "lstm")
    assert "**1.112 x**, 2.0 MB on disk" in table.text({"on": run})


def test_a_variant_that_failed_misses_its_limit_and_is_shown_with_its_error(run: results.Run) -> None:
    run.programs["gan"]["variants"].pop("guard")
    run.programs["gan"]["failed"] = {"guard": "ValueError: no"}
    assert [miss.programs for miss in limits.missed(run.programs)] == ["gan (fails)"]
    shown = table.text({"on": run})
    assert "| fails |" in shown and "- gan fails under guard: ValueError: no" in shown


def test_every_line_of_a_table_has_as_many_cells(run: results.Run) -> None:
    run.programs["gan"]["variants"].pop("guard")
    for lines in (
        *(table.time_table(quantity, run.programs) for quantity in table.HEADINGS),
        table.peak_table(run.programs),
    ):
        assert len({line.count("|") for line in lines}) == 1
        assert [program.name for program in PROGRAMS if not any(f"| {program.name} |" in line for line in lines)] == []


def test_the_page_has_the_tables_of_the_kept_runs() -> None:
    shown = tables.shown(table.PAGE.read_text(), table.NAME)
    assert shown == table.text(results.load(results.KEPT)), "write it with: python -m bench.zoo --tables"


def test_the_page_names_every_program_and_the_makefile_the_target() -> None:
    page = table.PAGE.read_text()
    assert [program.name for program in PROGRAMS if f"| `{program.name}` |" not in page] == []
    assert re.search(r"^bench-zoo: .*  ## ", (ROOT / "Makefile").read_text(), re.M)


def test_runs_in_a_file_give_the_same_tables(run: results.Run, tmp_path: Path) -> None:
    results.save({"on": run, "off": run}, tmp_path / "zoo.json")
    again = results.load(tmp_path / "zoo.json")
    assert [*again] == ["on", "off"] and table.text(again) == table.text({"on": run, "off": run})
    assert results.load(tmp_path / "none.json") == {} and "make bench-zoo" in table.text({})


def test_every_variant_runs_the_program_with_its_steps(tmp_path: Path) -> None:
    for name in (variants.BARE, *variants.TITLES):
        line = variants.command(name, PROGRAM, 7, tmp_path)
        assert line[0] == sys.executable and line[-3:] == [str(PROGRAM.path), "--steps", "7"]
    assert variants.command("flight", PROGRAM, 7, tmp_path)[3:8] == [
        "run", "--logdir", str(tmp_path / variants.RUN), "--mode", "FLIGHT",
    ]  # fmt: skip


def test_every_run_has_one_thread_and_the_kernels_that_were_asked_for() -> None:
    given = variants.environment(onednn=False)
    threads = [value for name, value in given.items() if name.startswith(("TF_NUM_INT", "OMP_NUM_"))]
    assert threads == ["1"] * 3 and given["TF_ENABLE_ONEDNN_OPTS"] == "0"
    assert variants.environment(onednn=True)["TF_ENABLE_ONEDNN_OPTS"] == "1"


def test_variants_take_turns_and_one_that_fails_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def fake(name: str, program: Program, onednn: bool) -> Sample:
        asked.append(name)
        if name == "guard":
            raise ProgramFailed("it died")
        return sample()

    monkeypatch.setattr(samples, "_sample", fake)
    taken = samples.take(PROGRAM, ["bare", "guard", "default", "tfdbg2"], 3, True, lambda text: None)
    assert asked == ["bare", "guard", "default", "tfdbg2", "default", "bare", "bare", "default"]
    assert taken.failed == {"guard": "it died"}
    assert {name: len(found) for name, found in taken.rounds.items()} == {"bare": 3, "default": 3, "tfdbg2": 1}


def test_a_sample_has_the_disk_and_the_verdict_of_its_longer_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fake(line: list[str], environment: dict[str, str], complaints: Path) -> Usage:
        (complaints.parent / variants.RUN).mkdir()
        (complaints.parent / variants.RUN / "events.bin").write_bytes(b"1" * 8192 * (int(line[-1]) // PROGRAM.steps))
        complaints.write_text(" sleuth  mlp.py finished\n HEALTHY, 1 note  no problem found\n")
        return Usage(float(line[-1]), 1.0, PEAK)

    monkeypatch.setattr(samples, "run", fake)
    monkeypatch.setattr(samples, "SCRATCH", tmp_path / "build")
    taken = samples.take(PROGRAM, ["default"], 1, True, lambda text: None).rounds["default"][0]
    assert (taken.step("wall"), taken.disk, taken.verdict) == (1.0, 16384, "HEALTHY")
    assert [*(tmp_path / "build").iterdir()] == []


def test_a_process_is_measured_with_those_that_it_starts(tmp_path: Path) -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'bytearray(150_000_000)'], check=True)"
    used = processes.run([sys.executable, "-c", code], {}, tmp_path / "err")
    assert used.wall > 0 and used.cpu > 0 and used.peak > 150e6


def test_a_process_that_fails_is_told_by_its_error(tmp_path: Path) -> None:
    with pytest.raises(ProgramFailed, match="ValueError: the reason"):
        processes.run([sys.executable, "-c", "raise ValueError('the reason')"], {}, tmp_path / "err")
    with pytest.raises(ProgramFailed, match="ended with 3"):
        processes.run([sys.executable, "-c", "raise SystemExit(3)"], {}, tmp_path / "err")


def test_a_process_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    with pytest.raises(ProgramFailed, match="took more than 0 s"):
        processes.run([sys.executable, "-c", "import time; time.sleep(100)"], {}, tmp_path / "err", longest=0.3)


def test_a_watched_program_sees_what_it_would_see_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    program = tmp_path / "train.py"
    program.write_text(
        "import sys, pathlib\nassert __name__ == '__main__'\n"
        "pathlib.Path('seen').write_text(repr((sys.argv, sys.path[0])))"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["watched.py"])
    monkeypatch.setattr(sys, "path", ["somewhere", *sys.path[1:]])
    monkeypatch.setitem(watched.WATCHERS, "guard", seen.append)
    watched.main("guard", "a folder", str(program), "--steps", "5")
    assert seen == ["a folder"]
    assert ast.literal_eval((tmp_path / "seen").read_text()) == ([str(program), "--steps", "5"], str(tmp_path))


def test_the_bare_program_is_always_measured() -> None:
    context, option = click.Context(command.main), command.main.params[0]
    assert command.variants_of(context, option, None) == ["bare", *variants.TITLES]
    assert command.variants_of(context, option, "guard,default") == ["bare", "guard", "default"]
    with pytest.raises(click.BadParameter, match="unknown: fast"):
        command.variants_of(context, option, "fast")


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> command.Session:
    """A run of two programs that is measured at once; page and files lie in a folder of their own."""

    def take(program: Program, names: list[str], *_: Any) -> Samples:
        return Samples({name: rounds(sample()) for name in names})

    monkeypatch.setattr(command, "take", take)
    monkeypatch.setattr("compileall.compile_dir", lambda *_, **__: True)
    monkeypatch.setattr(results, "LATEST", tmp_path / "build" / "zoo.json")
    monkeypatch.setattr(results, "KEPT", tmp_path / "zoo.json")
    monkeypatch.setattr(table, "PAGE", tmp_path / "performance.md")
    table.PAGE.write_text("{}\nold\n{}\n".format(*tables.marks(table.NAME)))
    return command.Session(PROGRAMS[:2], ["bare", *variants.TITLES], 5, True, MACHINE)


def test_a_whole_run_is_kept_beside_that_without_onednn(session: command.Session, run: results.Run) -> None:
    results.save({"off": run}, results.KEPT)
    assert session.measure_all()
    session.close(is_kept=True)
    kept = results.load(results.KEPT)
    assert {name: len(one.programs) for name, one in kept.items()} == {"off": 12, "on": 2}
    assert tables.shown(table.PAGE.read_text(), table.NAME) == table.text(kept)


def test_another_run_goes_into_no_page(session: command.Session, capsys: pytest.CaptureFixture[str]) -> None:
    assert session.measure_all()
    session.close(is_kept=False)
    assert not results.KEPT.exists() and "\nold\n" in table.PAGE.read_text()
    assert "2 of 12 programs are in build/zoo.json" in capsys.readouterr().out


def test_an_interrupted_run_keeps_what_was_measured(session: command.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(program: Program, *others: Any) -> Samples:
        if program is PROGRAMS[1]:
            raise KeyboardInterrupt
        return Samples({"bare": rounds(sample())}, {"guard": "it died at /some/where/libsleuth.so"})

    monkeypatch.setattr(command, "take", interrupt)
    assert not session.measure_all()
    kept = results.load(results.LATEST)["on"].programs
    assert [*kept] == [PROGRAMS[0].name] and kept[PROGRAMS[0].name]["failed"] == {"guard": "it died at libsleuth.so"}
