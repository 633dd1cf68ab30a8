"""`sleuth save-step`: copies a step that went bad, to take it elsewhere."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from tensorsleuth.cli.options import common
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.trace.storage.saved_steps import SavedStep, saved_steps_of
from tensorsleuth.ui.terminal import console


@click.command()
@click.argument("run", required=False)
@click.option("--step", "number", type=int, metavar="N", help="The step to copy.  [default: the first saved one]")
@click.option("--to", "target", required=True, metavar="FOLDER", help="A folder that does not exist yet.")
@common.logdir
def command(run: str | None, number: int | None, target: str, logdir: Path) -> None:
    """Copy a step that went bad out of a run: function, batch, weights, random numbers, source lines.

    A run keeps the first three calls that were replayed: calls of functions that XLA compiles, and in
    the mode FLIGHT of all functions. RUN is a name, the start of a name, or a path; by
    default the latest run.

    \b
    sleuth run --mode FLIGHT train.py
    sleuth save-step --to step
    sleuth replay step
    """
    path = run_folder.find(logdir, run)
    step = _choose(saved_steps_of(path), number, path)
    folder = Path(target)
    if folder.exists():
        raise SleuthError(f"{folder} exists already: name another folder, or remove it.")
    try:
        shutil.copytree(step.folder, folder)
    except OSError as error:
        raise SleuthError(f"The step cannot be copied to {folder}: {error}.") from error
    console.note(f"step {step.step} of {step.function} → {folder}      sleuth replay {folder}")


def _choose(steps: list[SavedStep], number: int | None, run: Path) -> SavedStep:
    if not steps:
        raise SleuthError(
            f"Run {run.name} has no saved step, because no step that went bad was replayed. "
            "Record with `sleuth run --mode FLIGHT`, which keeps the steps that go bad."
        )
    chosen = [step for step in steps if number in (None, step.step)]
    if not chosen:
        saved = ", ".join(str(step.step) for step in steps)
        raise SleuthError(f"Step {number} was not saved with {run.name}. The saved steps are: {saved}.")
    return chosen[0]
