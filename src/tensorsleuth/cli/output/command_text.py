"""Commands as a user types them. They find the same run from the user's directory."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from tensorsleuth.trace.storage import run_folder


def sleuth_command(words: str, run: Path) -> str:
    """Return a command line such as `sleuth why --all --logdir runs`."""
    return " ".join(["sleuth", words, *_run_arguments(run)])


def _run_arguments(run: Path) -> list[str]:
    """Return the shortest arguments that name the run: none for the latest run in the default directory."""
    folder = run.absolute().parent
    is_usual = run_folder.logdir(None).absolute() == folder
    if run.name in [one.name for one in run_folder.list_runs(folder)[:1] or [run]]:
        return [] if is_usual else ["--logdir", shlex.quote(_near(folder))]
    return [shlex.quote(run.name if is_usual else _near(run))]


def _near(path: Path) -> str:
    """Return a path relative to the user's directory, or the absolute path if that is shorter."""
    return min(os.path.relpath(path), str(path.absolute()), key=len)
