"""`sleuth memory`: where the memory went."""

from __future__ import annotations

from pathlib import Path

import click

from tensorsleuth.cli import options
from tensorsleuth.show import terminal
from tensorsleuth.trace import rundir

GROUPS = ("kind", "layer", "line", "op", "dtype")
USUAL = ("kind", "layer", "line")


@click.command()
@click.argument("run", required=False)
@click.option("--by", type=click.Choice(GROUPS), help="Add up the tensors by this only.  [default: kind, layer, line]")
@click.option("--at", metavar="TIME|STEP", help="Another moment: seconds since recording began, or step3.")
@options.logdir
@options.as_json
def command(run: str | None, by: str | None, at: str | None, logdir: Path, as_json: bool) -> None:
    """Tell where the memory of a run went.

    Resident memory over time, and the moment when it was highest, opened up: the tensors that were alive, by what they
    were for, by layer and by line; and what was not in tensors. RUN is a name, the start of one, or a path; the
    latest when left out.

    \b
    sleuth memory
    sleuth memory --by op
    sleuth memory --at step3
    sleuth memory --at 2.5 --by line 20251115-2215
    sleuth memory --json
    """
    from tensorsleuth.memory.answer import answers
    from tensorsleuth.show.memory_report import memory_report
    from tensorsleuth.trace.reader import open_trace

    found = answers(open_trace(rundir.find(logdir, run)), at)
    if as_json:
        terminal.data([one.to_json(by or "kind") for one in found])
        return
    for answer in found:
        if len(found) > 1:
            terminal.note(f" process {answer.pid}")
        terminal.show(memory_report(answer, (by,) if by else USUAL, terminal.width()))
