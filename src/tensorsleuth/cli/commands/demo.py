"""`sleuth demo`: a bundled program with a bug, from run to verdict."""

from __future__ import annotations

from pathlib import Path

import click

from tensorsleuth.cli.options import common
from tensorsleuth.cli.program import child, launch
from tensorsleuth.cli.program.after_program import print_closing_safely
from tensorsleuth.core.modes import DEFAULT_MODE

PROGRAM = Path(__file__).absolute().parents[2] / "demo" / "digits_mlp.py"
SETTINGS = {"mode": DEFAULT_MODE.name, "op_regex": None, "tensor_dtypes": None, "circular_buffer_size": None}


@click.command(context_settings={"ignore_unknown_options": True})
@common.logdir
@click.argument("flags", nargs=-1, type=click.UNPROCESSED, metavar="[FLAGS]...")
def command(flags: tuple[str, ...], logdir: Path) -> None:
    """Run a small program that cannot learn, and see which line is at fault.

    It trains a perceptron on handwritten digits, with the low-level API, and its accuracy stays at
    chance. FLAGS are passed on to the program, including those of the tfdbg2 tutorial. With --dump_dir
    the program records itself, as after a call of enable_dump_debug_info.

    \b
    sleuth demo
    sleuth demo --max_steps 20
    sleuth demo --dump_dir /tmp/dump --dump_tensor_debug_mode FULL_HEALTH
    """
    program = [str(PROGRAM), *flags]
    alone = any(flag.split("=")[0] == "--dump_dir" for flag in flags)
    run = None if alone else launch.new_run(logdir, program)
    ending = launch.run_recorded(program, run, SETTINGS)
    if run is not None:
        print_closing_safely(run, [PROGRAM.name, *flags], ending)
    child.end_as(ending)
