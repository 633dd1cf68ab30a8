"""`sleuth data`: checks data before it goes into a model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from tensorsleuth.cli.options import common
from tensorsleuth.cli.options.tokens import check_tokens, refuse_without_tokens, token_options
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.ui.terminal import console as terminal

if TYPE_CHECKING:
    from tensorsleuth.data.report import DataReport
    from tensorsleuth.data.schema import Progress

EXIT_OK, EXIT_PROBLEMS = 0, 1  # 2, as in every command: something cannot be read


@click.group("data")
def command() -> None:
    """Check data before it goes into a model.

    \b
    sleuth data check train.npz
    sleuth data infer train.npz -o schema.toml
    sleuth data check train.npz val.npz --schema schema.toml
    """


@command.command("infer")
@click.argument("sample", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Write the schema to this file.  [default: stdout]"
)
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
def infer(sample: Path, output: Path | None, force: bool) -> None:
    """Write the schema that SAMPLE suggests, for you to read and correct.

    SAMPLE is a .npz, .npy, .csv, .parquet, .jsonl or .tfrecord file.

    \b
    sleuth data infer train.npz
    sleuth data infer train.csv -o schema.toml
    """
    from tensorsleuth.data.check_data import check
    from tensorsleuth.data.schema import Schema
    from tensorsleuth.data.schema_file import dumps

    if output is not None and output.exists() and not force:
        raise SleuthError(f"{output} exists already and may contain your changes. Choose another name, or add --force.")
    with _progress() as progress:
        schema = Schema.infer(sample, progress)
        wrong = check(None, sample, progress=progress).errors
    if output is None:
        click.echo(dumps(schema), nl=False)
    else:
        schema.save(output)
    if wrong:
        names = ", ".join(dict.fromkeys(one.name for one in wrong))
        terminal.note(f" The schema accepts the problems of {names}. Look at them first: sleuth data check {sample}")
    if output is None:
        return
    terminal.note(f" {output} describes {sample}. Read it, correct it where needed, then:")
    terminal.note(f" sleuth data check {sample} --schema {output}")


@command.command("check")
@click.argument("path", type=click.Path(path_type=Path))
@click.argument("validation", required=False, type=click.Path(path_type=Path))
@click.option(
    "--schema",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The schema to check against, from `sleuth data infer`.",
)
@click.option(
    "--against", metavar="OTHER", type=click.Path(path_type=Path), help="Compare with the distribution of this data."
)
@token_options
@common.as_json
@click.pass_context
def check(
    ctx: click.Context,
    /,
    path: Path,
    validation: Path | None,
    schema: Path | None,
    against: Path | None,
    tokens: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Report problems of the data in PATH, and of VALIDATION together with it.

    Without a schema, it reports only what is always wrong: NaN, infinities, constants, duplicate rows, rows in both
    files, gaps in the labels, images that were not scaled. With --tokens, it checks ids, masks and labels of text
    models, and the text itself. The exit code is 0 if nothing is wrong, 1 if something is, 2 if a file cannot be read.

    \b
    sleuth data check train.npz
    sleuth data check train.csv val.csv --schema schema.toml
    sleuth data check today.parquet --against train.parquet --json
    sleuth data check tokens.npz --tokens --vocab vocab.txt
    """
    if tokens:
        with _progress() as progress:
            told = check_tokens(path, validation, {"schema": schema, "against": against}, asked, progress)
        _show(ctx, told, as_json)
    refuse_without_tokens(asked)
    from tensorsleuth.data.check_data import check as check_data
    from tensorsleuth.data.schema import Schema

    known = Schema.load(schema) if schema is not None else None
    with _progress() as progress:
        report = check_data(known, path, validation, against, progress)
    hint = "" if known is not None else f"\n More can be checked with a schema: sleuth data infer {path} -o schema.toml"
    _show(ctx, report, as_json, hint)


def _show(ctx: click.Context, report: DataReport, as_json: bool, hint: str = "") -> NoReturn:
    if as_json:
        terminal.print_json(report.to_json())
    else:
        terminal.show(report.__rich__())
        if hint:
            terminal.note(hint)
    ctx.exit(EXIT_OK if report.ok else EXIT_PROBLEMS)


@contextmanager
def _progress() -> Iterator[Progress | None]:
    """Show a progress bar on stderr during the work, if stderr is a terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    from tensorsleuth.ui.terminal.progress import ProgressBar

    with ProgressBar(console) as bar:
        yield bar.show
