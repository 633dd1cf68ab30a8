"""`sleuth report`: a run on one HTML sheet."""

from __future__ import annotations

from pathlib import Path

import click

from tensorsleuth.cli.options import common
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.formatting import printable, size
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.ui.terminal import console


@click.command()
@click.argument("run", required=False)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), default=Path("report.html"), show_default=True,
    metavar="FILE", help="The file to write.",
)  # fmt: skip
@common.logdir
def command(run: str | None, output: Path, logdir: Path) -> None:
    """Write a run as one HTML file: verdict, marked lines, charts, counts.

    RUN is a name, the start of a name, or a path; by default the latest run. The file has no script and loads nothing,
    so it suits CI artefacts, mail and paper. For the interactive page in one file, use sleuth view --export.

    \b
    sleuth report
    sleuth report 20251115-2215 -o report.html
    sleuth why || sleuth report -o "$ARTEFACTS/report.html"
    """
    from tensorsleuth.ui.web.report.document import make_report

    path = run_folder.find(logdir, run)
    text = make_report(path)
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SleuthError(f"cannot write {output}: {error.strerror}. Name another file: -o FILE") from error
    console.say(f"{printable(path.name)} is in {output} ({size(len(text.encode()))}): open it in any browser.")
