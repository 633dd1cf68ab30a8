"""The tables of README.md and docs/performance.md are those of the one run that is kept; no other run gets there."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from bench import __main__ as command
from bench import account, tables
from bench.ablation import PARTS
from bench.machine import Machine, this_machine
from bench.results import KEPT, Run, load
from bench.row import Bench, Result, Row
from bench.rows import ROWS
from rich.console import Console

MACHINE = Machine("Some CPU", "avx2", 2, "3.11.7", "2.21.0", "2026-01-31", "abc123def", 0.1)


def result_of(row: Row, ours: float | None = None) -> Result:
    """A result that keeps its limit, unless told otherwise."""
    figure = row.limit if ours is None else ours
    return {"what": row.what, "unit": row.unit, "ours": figure, "bare_s": 0.0254, "tfdbg2": 3.2761, "failed": {}}


@pytest.fixture
def run() -> Run:
    return Run(MACHINE, {row.name: result_of(row) for row in ROWS})


@pytest.mark.parametrize("name", tables.PAGES)
def test_the_page_has_the_table_of_the_kept_run(name: str) -> None:
    page, table = tables.PAGES[name]
    assert tables.shown(page.read_text(), name) == table(load(KEPT)), "write it with: python -m bench --tables"


def test_the_page_has_the_kept_account_of_short_steps() -> None:
    shown = tables.shown(account.PAGE.read_text(), account.TABLE)
    assert shown == account.kept(), "write it with: python -m bench.account"
    assert all(title in shown for title, _ in PARTS.values())


def test_rows_that_miss_their_limit_in_the_kept_run_have_a_reason() -> None:
    run = load(KEPT)
    unexplained = [row.name for row in tables.missed(run) if not row.why] if run else []
    assert unexplained == [], "add a `why` to these rows in bench/rows.py"


def test_a_run_in_a_file_gives_the_same_tables(run: Run, tmp_path: Path) -> None:
    run.save(tmp_path / "results.json")
    again = load(tmp_path / "results.json")
    assert again is not None and again.machine == MACHINE
    assert (tables.whole(again), tables.short(again)) == (tables.whole(run), tables.short(run))


def test_without_a_run_the_pages_say_so(tmp_path: Path) -> None:
    assert load(tmp_path / "none.json") is None
    assert "`make bench`" in tables.whole(None) and "`make bench`" in tables.short(None)


def test_the_tables_name_the_machine_and_every_row(run: Run) -> None:
    whole, short = tables.whole(run), tables.short(run)
    for table in (whole, short):
        words = " ".join(table.split())
        assert all(word in words for word in ("Some CPU", "2 cores", "avx2", "2.21.0", "2026-01-31", "abc123def"))
    assert [row.name for row in ROWS if f"| {row.name} |" not in whole] == []
    assert [name for name in tables.SHORT.values() if f"| {name} |" not in short] == []


def test_every_line_of_a_table_has_as_many_cells(run: Run) -> None:
    del run.rows["keras-cnn"]
    for table in (tables.whole(run), tables.short(run)):
        lines = [line for line in table.splitlines() if line.startswith("|")]
        assert len({line.count("|") for line in lines}) == 1
        assert all(len(line) <= 120 for line in table.splitlines())
        assert any(tables.NOT_MEASURED in line for line in lines)


def test_both_tables_round_the_same_number(run: Run) -> None:
    run.rows["keras-cnn"]["ours"] = 1.1482
    assert "| keras-cnn | 25.4 ms | 1.148 x |" in tables.whole(run)
    assert f"| {tables.SHORT['keras-cnn']} | 25.4 ms | 1.15 x | 3.28 x | – |" in tables.short(run)


def test_a_row_that_misses_its_limit_stays_with_the_reason(run: Run) -> None:
    assert "misses" not in tables.whole(run)
    row = next(row for row in ROWS if row.name == "keras-cnn")
    run.rows[row.name] = result_of(row, ours=row.limit * 2)
    assert "| **no** |" in tables.whole(run)
    assert f"- **keras-cnn** misses its limit: {row.why}" in " ".join(tables.whole(run).split())


def test_a_variant_and_a_row_that_broke_are_shown_as_such(run: Run) -> None:
    run.rows["transformer-compiled"]["failed"] = {"tfdbg2": "it died"}
    run.rows["keras-cnn"] |= {"ours": None, "failed": {"row": "OSError('no disk')"}}
    assert "| fails |" in tables.short(run)
    assert "- **keras-cnn** misses its limit: it could not be measured (OSError('no disk'))" in tables.whole(run)


def test_only_what_stands_between_the_marks_is_written() -> None:
    begin, end = tables.marks("short")
    page = f"before\n{begin}\nold\n{end}\nafter\n"
    assert tables.put(page, "short", "new\n") == f"before\n{begin}\nnew\n{end}\nafter\n"
    assert tables.shown(page, "short") == "old\n"
    with pytest.raises(ValueError, match="no place for the table whole"):
        tables.put(page, "whole", "new\n")


def test_an_error_is_kept_without_the_folders_of_the_machine() -> None:
    def measure(bench: Bench) -> Result:
        raise OSError("cannot open /some/where/deep/libsleuth.so\nand more")

    result = Row("a", "", 1.0, measure).run(Bench(Path(), print))
    assert result["failed"] == {"row": "OSError('cannot open libsleuth.so\\nand more')"}
    assert not Row("a", "", 1.0, measure).is_met(result)


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> command.Session:
    """A run of two rows, the first of which is measured at once; pages and files lie in a folder of their own."""
    monkeypatch.setattr(command, "LATEST", tmp_path / "build" / "bench.json")
    monkeypatch.setattr(command, "KEPT", tmp_path / "results.json")
    pages = {name: (tmp_path / page.name, table) for name, (page, table) in tables.PAGES.items()}
    monkeypatch.setattr(tables, "PAGES", pages)
    for name, (page, _) in pages.items():
        page.write_text("{}\nold\n{}\n".format(*tables.marks(name)))
    rows = [Row(row.name, row.what, row.limit, lambda bench: {"ours": 1.0}) for row in ROWS[:2]]
    return command.Session(Console(file=io.StringIO(), width=120), rows, MACHINE)


def test_a_whole_run_is_kept_and_written_into_the_pages(session: command.Session, tmp_path: Path) -> None:
    assert session.run_all()
    session.close(finished=True, is_whole=True)
    kept = load(tmp_path / "results.json")
    assert kept is not None and [*kept.rows] == [row.name for row in ROWS[:2]]
    assert tables.shown((tmp_path / "README.md").read_text(), "short") == tables.short(kept)
    assert tables.shown((tmp_path / "performance.md").read_text(), "whole") == tables.whole(kept)


def test_one_row_by_itself_is_shown_and_goes_into_no_page(session: command.Session, tmp_path: Path) -> None:
    assert session.run_all()
    session.show()
    session.close(finished=True, is_whole=False)
    assert not (tmp_path / "results.json").exists()
    assert "\nold\n" in (tmp_path / "README.md").read_text()


def test_an_interrupted_run_keeps_what_was_measured(session: command.Session, tmp_path: Path) -> None:
    def interrupt(bench: Bench) -> Result:
        raise KeyboardInterrupt

    session.rows[1] = Row(ROWS[1].name, "", 1.0, interrupt)
    assert not session.run_all()
    session.close(finished=False, is_whole=True)
    latest = load(tmp_path / "build" / "bench.json")
    assert latest is not None and [*latest.rows] == [ROWS[0].name]
    assert not (tmp_path / "results.json").exists()
    assert "\nold\n" in (tmp_path / "README.md").read_text()
    assert [*(tmp_path / "build").iterdir()] == [tmp_path / "build" / "bench.json"]


def test_this_machine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.machine.tensorflow_facts", lambda: {"native": "avx2", "tensorflow": {"version": "2.21"}})
    machine = this_machine()
    assert machine.cpu and machine.cores >= 1 and machine.tensorflow == "2.21" and machine.commit
