"""The result of `sleuth doctor`, as a table and a conclusion."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from tensorsleuth.cli.doctor.check import CheckState, MachineCheck
from tensorsleuth.cli.doctor.coverage import COVERED, NOT_COVERED
from tensorsleuth.core.formatting import printable

MARKS = {
    CheckState.GOOD: Text("✓", "green"),
    CheckState.POOR: Text("!", "yellow"),
    CheckState.BAD: Text("✗", "bold red"),
}


def doctor_report(machine_checks: Sequence[MachineCheck]) -> Group:
    """Return the checks, the lists of what is covered, and whether a program would be recorded."""
    table = _grid()
    for check in machine_checks:
        table.add_row(MARKS[check.state], Text(check.name, "bold"), Text(printable(check.text)))
    lists = (_list("Covered", COVERED, "·"), _list("Not covered", NOT_COVERED, "–"))
    return Group(table, *lists, Text(), conclusion(machine_checks))


def conclusion(machine_checks: Sequence[MachineCheck]) -> Text:
    bad = [check.name for check in machine_checks if check.state is CheckState.BAD]
    if bad:
        return Text(f" Recording would not work here: see {', '.join(bad)} above.", "bold red")
    return Text(" Ready: sleuth run program.py", "bold green")


def _list(title: str, items: Sequence[str], mark: str) -> Group:
    table = _grid()
    for item in items:
        table.add_row(Text(mark), Text(item))
    return Group(Text(f"\n {title}", "bold"), table)


def _grid() -> Table:
    return Table.grid(padding=(0, 1, 0, 1))
