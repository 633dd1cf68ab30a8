"""`sleuth profile`: where the time goes."""

from __future__ import annotations

from pathlib import Path

import click

from tensorsleuth.cli.options import common
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.ui.terminal import console

DEFAULT_ROWS = 10


@click.command()
@click.argument("run", required=False)
@click.option(
    "--by", type=click.Choice(["op", "layer", "line"]), default="op", show_default=True, help="Sum up the time by this."
)
@click.option("--step", type=int, metavar="N", help="Only this training step.")
@click.option(
    "--rows", type=click.IntRange(1), default=DEFAULT_ROWS, show_default=True, help="Show this many rows of the table."
)
@click.option(
    "--chrome",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write a trace for Perfetto and chrome://tracing.",
)
@common.logdir
@common.as_json
def command(
    run: str | None, by: str, step: int | None, rows: int, chrome: Path | None, logdir: Path, as_json: bool
) -> None:
    """Show where the time went: input, Python, which op, layer and line.

    RUN is a name, the start of a name, or a path; by default the latest run. Steps in which a function
    ran for the first time are not in the sums, but among the slowest steps.

    \b
    sleuth profile
    sleuth profile --by line
    sleuth profile --step 12 --chrome step12.json
    sleuth profile --json
    """
    from tensorsleuth.analyze.profile import chrome_trace
    from tensorsleuth.analyze.profile.report import make_profile_report
    from tensorsleuth.trace.reader import open_trace

    path = run_folder.find(logdir, run)
    told, profile = make_profile_report(open_trace(path), step)
    if as_json:
        console.print_json(told.to_json())
    else:
        from tensorsleuth.ui.terminal.profile_report import profile_report as shown

        console.show(shown(told, by, rows, console.width()))
    if chrome is not None:
        count = chrome_trace.write_trace(profile, chrome, path.name, step is None)
        console.note(f" {count:,} events in {chrome}. Open it at https://ui.perfetto.dev or chrome://tracing")
