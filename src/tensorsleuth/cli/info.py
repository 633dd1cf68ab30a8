"""`sleuth info`: one run in full."""

from __future__ import annotations

import time
from pathlib import Path

import click

from tensorsleuth.cli import options, summaries
from tensorsleuth.show import terminal
from tensorsleuth.trace import rundir


@click.command()
@click.argument("run", required=False)
@options.logdir
@options.as_json
def command(run: str | None, logdir: Path, as_json: bool) -> None:
    """Tell what is known about a run: program, end, steps, tensors, size.

    RUN is a name, the start of one, or a path; the latest when left out.

    \b
    sleuth info
    sleuth info 20251115-2215
    sleuth info --json
    """
    path = rundir.find(logdir, run)
    summary, meta = summaries.summarize(path), rundir.read_meta(path)
    if as_json:
        terminal.data({**meta, **summaries.as_json(summary), "argv": meta.get("program")})
        return
    from tensorsleuth.show.run_info import run_info

    terminal.show(run_info(summary, meta, time.time()))
