"""`sleuth replay`: runs a saved step again."""

from __future__ import annotations

import os
from pathlib import Path

import click

from tensorsleuth.cli.commands.why import NOTHING_RECORDED, print_verdict
from tensorsleuth.cli.options import common
from tensorsleuth.trace.storage.saved_steps import read_step


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@common.logdir
@common.as_json
@click.pass_context
def command(ctx: click.Context, folder: Path, logdir: Path, as_json: bool) -> None:
    """Run a step from `sleuth save-step` again, without its program, and say why it went bad.

    The replay is recorded as a run of its own. It executes nothing in FOLDER but TensorFlow ops. The
    exit code is that of `sleuth why`.

    \b
    sleuth replay step
    """
    step = read_step(folder)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # the verdict says what these messages would say
    from tensorsleuth.recording.api import record, require_tensorflow

    require_tensorflow()
    from tensorsleuth.recording.replay.rerun_step import rerun_step

    with record(logdir) as recording:
        rerun_step(step, recording)
    if recording.path is None:
        ctx.exit(NOTHING_RECORDED)
    print_verdict(ctx, recording.path, as_json)
