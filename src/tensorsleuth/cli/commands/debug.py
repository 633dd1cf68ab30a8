"""`sleuth debug`: the terminal debugger."""

from __future__ import annotations

import sys
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tensorsleuth.cli.options import common
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.trace.storage import run_folder
from tensorsleuth.ui.terminal import console

if TYPE_CHECKING:
    from tensorsleuth.ui.debugger.debugger import Debugger

EXIT_FAILED = 2


@click.command()
@click.argument("run", required=False)
@click.option("-c", "commands", multiple=True, metavar="COMMAND", help="Run this command and print; may be repeated.")
@click.option("--attach", is_flag=True, help="Attach to the paused program.")
@common.logdir
@click.pass_context
def command(ctx: click.Context, run: str | None, commands: tuple[str, ...], attach: bool, logdir: Path) -> None:
    """Walk through what a program computed: tensors, alerts, graph, source, values.

    RUN is a name, the start of a name, or a path; by default the latest run. The keyboard does everything: ? lists the
    keys, : takes commands. The commands of tfdbg work too (lt, pt, ni, li, lo, ps, eval, run -f).

    \b
    sleuth debug
    sleuth debug -c 'lt -f has_inf_or_nan' -c 'pt Log:0[0, :]'
    sleuth debug --attach
    """
    if not commands and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise SleuthError("the debugger needs a terminal. Without one, give commands: sleuth debug -c alerts -c why")
    from tensorsleuth.trace.reader import Trace, open_trace
    from tensorsleuth.ui.debugger.debugger import Debugger
    from tensorsleuth.ui.debugger.live_program import connect, holds_address

    bare = attach and run is not None and holds_address(Path(run))  # it may be a program that records nothing
    path = Path(str(run)) if bare else run_folder.find(logdir, run)
    with closing(connect(path)) if attach else nullcontext() as live:
        debugger = Debugger(Trace(path) if bare else open_trace(path), live)
        ctx.exit(_print(debugger, commands) if commands else _open(debugger))


def _open(debugger: Debugger) -> int:
    from tensorsleuth.ui.tui.app import open_debugger

    open_debugger(debugger)
    return 0


def _print(debugger: Debugger, commands: tuple[str, ...]) -> int:
    """Run commands one after the other. An error in one does not stop the next."""
    from tensorsleuth.ui.debugger.rendering import render_result

    failed = 0
    for line in commands:
        try:
            result = debugger.run_line(line)
        except SleuthError as error:
            console.print_error(str(error))
            failed = EXIT_FAILED
            continue
        if result.quit:
            break
        console.show(render_result(result))
    return failed
