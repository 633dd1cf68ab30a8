"""`sleuth replay`: runs a saved step again."""

from __future__ import annotations

import os
from pathlib import Path

import click

from tensorsleuth.cli import options
from tensorsleuth.cli.closing import next_commands
from tensorsleuth.cli.why import HEALTHY, PROBLEM
from tensorsleuth.show import terminal
from tensorsleuth.show.closing import hints
from tensorsleuth.trace.saved import read_step


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@options.logdir
@options.as_json
@click.pass_context
def command(ctx: click.Context, folder: Path, logdir: Path, as_json: bool) -> None:
    """Run a step that `sleuth save-step` saved, without the program that it came from, and say why it went bad.

    It is recorded as a run of its own. Nothing in FOLDER is executed but ops of TensorFlow's. The exit
    code is that of `sleuth why`.

    \b
    sleuth replay step
    """
    from tensorsleuth.diagnose.report import diagnose
    from tensorsleuth.show.verdict import verdict

    step = read_step(folder)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # what the ops complain of is what we are about to say
    from tensorsleuth.capture.api import need_tensorflow, record

    need_tensorflow()
    from tensorsleuth.capture.rerun import rerun
    from tensorsleuth.trace.reader import open_trace

    with record(logdir) as recording:
        rerun(step, recording)
    if recording.path is None:
        ctx.exit(2)
    diagnosis = diagnose(open_trace(recording.path))
    if as_json:
        terminal.data(diagnosis.to_json())
    else:
        terminal.show(verdict(diagnosis))
        terminal.note(hints(next_commands(recording.path)))
    ctx.exit(PROBLEM if diagnosis.findings else HEALTHY)
