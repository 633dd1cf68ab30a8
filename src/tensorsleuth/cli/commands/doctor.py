"""`sleuth doctor`: checks whether this machine is ready."""

from __future__ import annotations

from pathlib import Path

import click

from tensorsleuth.cli.doctor.check import CheckState
from tensorsleuth.cli.doctor.coverage import COVERED, NOT_COVERED
from tensorsleuth.cli.options import common
from tensorsleuth.ui.terminal import console


@click.command()
@common.logdir
@common.as_json
@click.pass_context
def command(ctx: click.Context, logdir: Path, as_json: bool) -> None:
    """Show what this machine has, and what a recording here would cover.

    The exit code is 0 if a program would be recorded here, else 1.

    \b
    sleuth doctor
    sleuth doctor --json
    """
    from tensorsleuth.cli.doctor import machine

    found = machine.machine_checks(logdir)
    ready = all(check.state is not CheckState.BAD for check in found)
    if as_json:
        listed = [{"name": check.name, "state": check.state.value, "text": check.text} for check in found]
        console.print_json({"ready": ready, "checks": listed, "covered": COVERED, "not_covered": NOT_COVERED})
    else:
        from tensorsleuth.cli.doctor.report import doctor_report

        console.show(doctor_report(found))
    ctx.exit(0 if ready else 1)
