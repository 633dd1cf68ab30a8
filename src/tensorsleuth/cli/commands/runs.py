"""`sleuth runs`: the recorded runs."""

from __future__ import annotations

import time
from pathlib import Path

import click

from tensorsleuth.cli.options import common
from tensorsleuth.cli.output import summaries
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.ui.terminal import console


@click.command()
@common.logdir
@common.as_json
def command(logdir: Path, as_json: bool) -> None:
    """List the recorded runs, newest first.

    \b
    sleuth runs
    sleuth runs --logdir /scratch/runs
    sleuth runs --json | jq '.[0].bad'
    """
    found = [summaries.summarize(run) for run in run_folder.list_runs(logdir)]
    if as_json:
        console.print_json([summaries.as_json(summary) for summary in found])
    elif found:
        from tensorsleuth.ui.terminal.runs_table import runs_table

        console.show(runs_table(found, time.time(), console.width()))
    else:
        console.note(_nothing_yet(logdir))


def _nothing_yet(logdir: Path) -> str:
    return (
        f" No run in {logdir.absolute()} yet.\n\n"
        " sleuth run train.py      record your program, unedited\n"
        " sleuth demo              see how it finds a bug, in half a minute\n"
        " sleuth runs --logdir D   look in another folder (or set SLEUTH_LOGDIR)"
    )
