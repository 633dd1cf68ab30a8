"""The `sleuth` command: finds the requested command, and turns errors into sentences."""

from __future__ import annotations

import atexit
import gc
from typing import Any

import click

from tensorsleuth.cli import command_table
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.ui.terminal import console

INTERRUPTED = 130


class LazyGroup(click.Group):
    """A group whose commands are imported one by one. Only here do errors become exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(command_table.COMMAND_NAMES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return command_table.load_command(cmd_name)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except SleuthError as error:
            console.print_error(str(error))
            ctx.exit(2)
        except KeyboardInterrupt:
            ctx.exit(INTERRUPTED)


def _version(ctx: click.Context, option: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        click.echo(f"tensorsleuth {version('tensorsleuth')}")
    except PackageNotFoundError:
        click.echo("tensorsleuth, from a source tree without installation")
    ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print the version."
)
def cli() -> None:
    """Find the line that made your TensorFlow program go wrong.

    \b
    sleuth run train.py --epochs 3    record any program, unedited
    sleuth why                        which line went wrong first, and why
    sleuth profile                    where its time goes
    sleuth view                       browse it on a page
    sleuth debug                      walk through it, in the terminal
    sleuth memory                     where its memory went
    sleuth attention                  what the attention heads of its model attend to
    sleuth layers                     its layers, gradients and updates over the steps
    sleuth runs                       the recorded runs
    sleuth info                       facts about the latest run
    sleuth doctor                     whether this machine is ready
    """


def main() -> None:
    """The entry point of the `sleuth` script."""
    console.replace_unencodable()
    atexit.register(gc.freeze)  # or the interpreter, as it ends, looks for garbage among all that it is about to drop
    cli.main(prog_name="sleuth")


if __name__ == "__main__":
    main()
