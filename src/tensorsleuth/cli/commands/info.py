"""`sleuth info`: all facts about one run."""

from __future__ import annotations

import time
from pathlib import Path

import click

from tensorsleuth.cli.options import common
from tensorsleuth.cli.output import summaries
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.ui.terminal import console


@click.command()
@click.argument("run", required=False)
@common.logdir
@common.as_json
def command(run: str | None, logdir: Path, as_json: bool) -> None:
    """Show the facts about a run: program, end, steps, tensors, size.

    RUN is a name, the start of a name, or a path; by default the latest run.

    \b
    sleuth info
    sleuth info 20251115-2215
    sleuth info --json
    """
    path = run_folder.find(logdir, run)
    summary, meta = summaries.summarize(path), run_folder.read_meta(path)
    if as_json:
        console.print_json({**meta, **summaries.as_json(summary), "argv": meta.get("program")})
        return
    from tensorsleuth.ui.terminal.run_info import run_info

    console.show(run_info(summary, meta, time.time()))
