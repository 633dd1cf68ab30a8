"""`sleuth rm`: deletes runs, and nothing else."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import click

from tensorsleuth.cli.options import common
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.formatting import plural
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.ui.terminal import console


@click.command()
@click.argument("runs", nargs=-1, metavar="RUN...")
@common.logdir
@click.option("--all", "everything", is_flag=True, help="Every run of the log directory.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option("--force", is_flag=True, help="Also delete a run that is still running or holds other files.")
def command(runs: tuple[str, ...], logdir: Path, everything: bool, yes: bool, force: bool) -> None:
    """Delete runs.

    RUN is a name, the start of one, or a path. The command asks for confirmation.

    \b
    sleuth rm 20251115-221500-train
    sleuth rm --all --yes
    """
    chosen = _chosen(runs, logdir, everything)
    for run in chosen:
        _check(run, force)
    if chosen and (yes or _confirmed(chosen)):
        _delete(chosen)


def _chosen(runs: tuple[str, ...], logdir: Path, everything: bool) -> list[Path]:
    if everything == bool(runs):
        raise SleuthError("say which runs to delete: sleuth rm RUN, or all of them: sleuth rm --all (not both).")
    if everything:
        return run_folder.list_runs(logdir)
    return list(dict.fromkeys(run_folder.find(logdir, query) for query in runs))


def _check(run: Path, force: bool) -> None:
    """Raise an error if a folder is not purely a run, or is in use."""
    if run.is_symlink():
        raise SleuthError(f"{run} is a link, not a run folder: delete it with rm.")
    if force:
        return
    if run_folder.is_alive(run):
        pid = run_folder.read_meta(run)["pid"]
        raise SleuthError(f"{run.name} is still running (pid {pid}). Stop it, or add --force.")
    foreign = run_folder.foreign_files(run)
    if foreign:
        raise SleuthError(f"{run} holds {foreign[0]!r}, which is not part of a run. Move it away, or add --force.")


def _confirmed(runs: list[Path]) -> bool:
    if not _interactive():
        raise SleuthError(
            f"would delete {plural(len(runs), 'run')}, but there is no terminal to confirm it: add --yes."
        )
    for run in runs:
        console.note(f"   {run}")
    return click.confirm(f"Delete {'this run' if len(runs) == 1 else f'these {len(runs)} runs'}?", err=True)


def _interactive() -> bool:
    return sys.stdin.isatty()


def _delete(runs: list[Path]) -> None:
    for run in runs:
        try:
            shutil.rmtree(run)
        except OSError as error:
            raise SleuthError(f"cannot delete {run}: {error.strerror} ({error.filename}).") from error
    console.say(f"deleted {plural(len(runs), 'run')}.")
