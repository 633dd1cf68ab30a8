"""`sleuth memory`: where the memory went."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tensorsleuth.cli.options import common
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.ui.terminal import console

if TYPE_CHECKING:
    from tensorsleuth.trace.reader import Trace

GROUPS = ("kind", "layer", "line", "op", "dtype")
DEFAULT_GROUPS = ("kind", "layer", "line")


@click.command()
@click.argument("run", required=False)
@click.option("--by", type=click.Choice(GROUPS), help="Group the tensors by this only.  [default: kind, layer, line]")
@click.option("--at", metavar="TIME|STEP", help="Show this time instead of the peak: seconds, or step3.")
@click.option("--fit", is_flag=True, help="Predict the largest batch that fits, and what would help.")
@click.option("--limit", metavar="SIZE", help="With --fit: the memory available, 12GB.  [default: as recorded]")
@click.option("--batch", type=click.IntRange(1), help="With --fit: predict this batch size.  [default: as recorded]")
@click.option("--sequence", type=click.IntRange(1), help="With --fit: predict this sequence length.")
@common.logdir
@common.as_json
def command(
    run: str | None,
    by: str | None,
    at: str | None,
    fit: bool,
    limit: str | None,
    batch: int | None,
    sequence: int | None,
    logdir: Path,
    as_json: bool,
) -> None:
    """Show where the memory of a run went, and which batch fits.

    Resident memory over time, and a breakdown of its peak: the live tensors by purpose, layer and line, and the memory
    outside of tensors. With --fit, a model of that peak predicts the largest batch and the longest sequence that fit,
    and how much each remedy would save. RUN is a name, the start of a name, or a path; by default the latest run.

    \b
    sleuth memory
    sleuth memory --by op
    sleuth memory --at step3
    sleuth memory --at 2.5 --by line 20251115-2215
    sleuth memory --fit
    sleuth memory --fit --limit 12GB --batch 64
    sleuth memory --json
    """
    from tensorsleuth.trace.reader import open_trace

    if not fit and (limit, batch, sequence) != (None, None, None):
        raise click.UsageError("--limit, --batch and --sequence need --fit: add it.")
    if fit and (by, at) != (None, None):
        raise click.UsageError(
            "--by and --at describe the recorded run, --fit predicts other sizes: use one or the other."
        )
    trace = open_trace(run_folder.find(logdir, run))
    if fit:
        _fit(trace, limit, batch, sequence, as_json)
    else:
        _account(trace, by, at, as_json)


def _account(trace: Trace, by: str | None, at: str | None, as_json: bool) -> None:
    from tensorsleuth.analyze.memory.report import memory_reports
    from tensorsleuth.ui.terminal.memory_report import memory_report

    found = memory_reports(trace, at)
    if as_json:
        console.print_json([one.to_json(by or "kind") for one in found])
        return
    for answer in found:
        if len(found) > 1:
            console.note(f" process {answer.pid}")
        console.show(memory_report(answer, (by,) if by else DEFAULT_GROUPS, console.width()))


def _fit(trace: Trace, limit: str | None, batch: int | None, sequence: int | None, as_json: bool) -> None:
    from tensorsleuth.analyze.memory.batch_size.fit_report import fit_reports, parse_bytes
    from tensorsleuth.ui.terminal.batch_report import batch_report

    found = fit_reports(trace, parse_bytes(limit) if limit is not None else None, batch, sequence)
    if as_json:
        console.print_json([one.to_json() for one in found])
        return
    for one in found:
        if len(found) > 1:
            console.note(f" process {one.pid}")
        console.show(batch_report(one, console.width()))
