"""`sleuth why`: prints the cause."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import click

from tensorsleuth.cli.options import common
from tensorsleuth.cli.output.closing import print_hints
from tensorsleuth.cli.output.next_steps import next_commands
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.ui.terminal import console

PROBLEM_FOUND, NOTHING_RECORDED = 1, 2  # exit codes


@click.command()
@click.argument("run", required=False)
@click.option("--all", "everything", is_flag=True, help="Show every finding in full.")
@common.logdir
@common.as_json
@click.pass_context
def command(ctx: click.Context, run: str | None, everything: bool, logdir: Path, as_json: bool) -> None:
    """Name the line that made the first bad value.

    RUN is a name, the start of a name, or a path; by default the latest run. The exit code is 1 if a
    problem was found, and 0 if the run is healthy or unclear. It is 2 if the run cannot be read, or
    holds nothing to judge.

    \b
    sleuth why
    sleuth why --all 20251115-2215
    sleuth why --json
    """
    print_verdict(ctx, run_folder.find(logdir, run), as_json, everything)


def print_verdict(ctx: click.Context, path: Path, as_json: bool, everything: bool = False) -> NoReturn:
    """Print the verdict on a run, and exit with its code."""
    from tensorsleuth.diagnose.report import diagnose
    from tensorsleuth.trace.reader import open_trace
    from tensorsleuth.ui.terminal.verdict import verdict

    trace = open_trace(path)
    diagnosis = diagnose(trace)
    if as_json:
        console.print_json(diagnosis.to_json())
    else:
        console.show(verdict(diagnosis, everything))
        if not diagnosis.unjudged:
            print_hints(next_commands(path, diagnosis, everything, trace.inside().attention))
    ctx.exit(PROBLEM_FOUND if diagnosis.findings else NOTHING_RECORDED if diagnosis.unjudged else 0)
