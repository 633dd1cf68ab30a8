"""Commands as they are typed: they find the same run from where the user stands."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from tensorsleuth.trace.storage import run_folder


def sleuth_command(words: str, run: Path) -> str:
    """`sleuth why --all --logdir runs`"""
    return " ".join(["sleuth", words, *_run_arguments(run)])


def _run_arguments(run: Path) -> list[str]:
    """As little as names the run: nothing for the latest in the usual place."""
    folder = run.absolute().parent
    is_usual = run_folder.logdir(None).absolute() == folder
    if run.name in [one.name for one in run_folder.list_runs(folder)[:1] or [run]]:
        return [] if is_usual else ["--logdir", shlex.quote(_near(folder))]
    return [shlex.quote(run.name if is_usual else _near(run))]


def _near(path: Path) -> str:
    """As it is typed from here, or from the root where that is shorter."""
    return min(os.path.relpath(path), str(path.absolute()), key=len)
