"""`sleuth run`: runs any program, unedited, and records it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tensorsleuth.cli.options import breakpoints, common
from tensorsleuth.cli.options import record as settings
from tensorsleuth.cli.options import watch as watching
from tensorsleuth.cli.program import child, launch
from tensorsleuth.cli.program.after_program import print_closing_safely

HANG_AFTER = 300.0  # most programs need less for preparing data, compiling or saving without an op


class ProgramCommand(click.Command):
    """A command whose own options end where the program begins: at a file, -m or -c."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, self._fenced(args))

    def _fenced(self, args: list[str]) -> list[str]:
        """Insert -- before the program, so that its options are not taken for ours."""
        place = 0
        while place < len(args) and args[place].startswith("-") and args[place] not in ("-", "--"):
            if args[place][:2] in ("-m", "-c"):
                glued = args[place][2:]  # -mpkg, as Python allows
                return [*args[:place], "--", args[place][:2], *([glued] if glued else []), *args[place + 1 :]]
            place += 2 if args[place] in self._with_value() else 1
        if place >= len(args) or args[place] == "--":
            return args
        return [*args[:place], "--", *args[place:]]

    def _with_value(self) -> set[str]:
        taking = (param for param in self.params if isinstance(param, click.Option) and not param.is_flag)
        return {name for param in taking for name in param.opts}


@click.command(cls=ProgramCommand, options_metavar="[OPTIONS]")
@common.logdir
@settings.record_options
@breakpoints.break_options
@watching.watch_options
@common.quiet
@click.option(
    "--hang-after",
    type=click.FloatRange(min=0),
    default=HANG_AFTER,
    show_default=True,
    metavar="SECONDS",
    help="If nothing happens for this long, report once where the program is; 0: never.",
)
@click.option("--join", metavar="NAME", help="Record into the run of this name, which several programs may share.")
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="PROGRAM [ARGS]...")
def command(
    program: tuple[str, ...],
    logdir: Path,
    quiet: bool,
    join: str | None,
    conditions: tuple[str, ...],
    break_on: tuple[str, ...],
    then: str,
    watched: tuple[str, ...],
    watch_every: int,
    hang_after: float,
    **recording: Any,
) -> None:
    """Run a program, unedited, and record its tensors.

    PROGRAM is what you would type after `python`: a file, -m module, or -c code. It gets the same
    arguments, input, output and signals, and `sleuth run` ends with its exit code or signal.

    \b
    sleuth run train.py --epochs 3
    sleuth run --mode CURT_HEALTH -m mypackage.train
    sleuth run --op-regex '(MatMul|Log)' --logdir /scratch/runs train.py
    sleuth run --join mnist worker.py     # in each worker's terminal: one verdict
    sleuth run --break 'grad_norm > 100' --then pause train.py
    sleuth run --watch 'encoder/.*/kernel' --watch-every 100 train.py
    """
    launch.check_program(program)
    wanted = settings.record_settings(logdir, recording)
    points = breakpoints.break_arguments(conditions, break_on, then)
    watches = watching.watch_arguments(watched, watch_every)
    run = launch.new_run(logdir, program, join)
    ending = launch.run_recorded(program, run, wanted, points, watches, hang_after)
    if run is not None and not quiet:
        print_closing_safely(run, program, ending)
    child.end_as(ending)
