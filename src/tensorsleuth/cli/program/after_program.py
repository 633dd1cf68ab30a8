"""Work after the end of the watched program. An error here costs a line, never the program's exit code."""

from __future__ import annotations

import contextlib
import os
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ParamSpec

from tensorsleuth.core.exit_status import ExitStatus
from tensorsleuth.ui.terminal import console

P = ParamSpec("P")


def do_safely(what: str, action: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
    """Run the action and report its exception, a Ctrl-C too, in one line. SLEUTH_DEBUG shows the traceback."""
    try:
        action(*args, **kwargs)
    except (Exception, KeyboardInterrupt) as error:
        said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        with contextlib.suppress(Exception):  # stderr may be closed
            console.say(f"cannot {what} ({said}). The program's exit code is unchanged. See: sleuth why, sleuth doctor")
        if os.environ.get("SLEUTH_DEBUG"):
            traceback.print_exc()


def print_closing_safely(run: Path, program: Sequence[str], exit_status: ExitStatus) -> None:
    """Print how the program ended and what to type next."""
    do_safely("report how the run ended", _close, run, program, exit_status)


def _close(run: Path, program: Sequence[str], exit_status: ExitStatus) -> None:
    from tensorsleuth.cli.output import closing  # not earlier: the program must also run if this import fails

    closing.print_closing(run, program, exit_status)
