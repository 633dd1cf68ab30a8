"""The options of `sleuth data check --tokens`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tensorsleuth.core.errors import SleuthError

if TYPE_CHECKING:
    from tensorsleuth.data.schema import Progress
    from tensorsleuth.data.tokens.report import TokenReport

F = TypeVar("F", bound=Callable[..., Any])
TOKEN_OPTIONS = (
    click.option("--tokens", is_flag=True, help="Check token ids, masks, labels and text."),
    click.option("--vocab", metavar="FILE|SIZE", help="The vocabulary: a file of tokens, or its size."),
    click.option("--pad", metavar="ID", type=int, help="The id of padding.  [default: inferred]"),
    click.option(
        "--ignore", metavar="ID", type=int, default=None, help="The label that the loss ignores, such as -100."
    ),
    click.option("--causal/--not-causal", default=None, help="Whether the model predicts the next token."),
    click.option(
        "--shifted-by", type=click.Choice(["model", "data"]), help="Who shifts the labels by one: model or data."
    ),
    click.option("--max-length", metavar="N", type=int, help="The length at which samples are truncated."),
)


def token_options(function: F) -> F:
    for option in reversed(TOKEN_OPTIONS):
        function = option(function)
    return function


def refuse_without_tokens(asked: dict[str, Any]) -> None:
    """Raise an error if one of these options is given without --tokens."""
    given = [name for name, value in asked.items() if value is not None]
    if given:
        raise SleuthError(f"--{given[0].replace('_', '-')} is about tokens: add --tokens.")


def check_tokens(
    path: Path, validation: Path | None, others: dict[str, Any], asked: dict[str, Any], progress: Progress | None
) -> TokenReport:
    """Return the report of `tensorsleuth.check_batch` on files."""
    from tensorsleuth.data.tokens.api import check_batch

    mixed = [name for name, value in others.items() if value is not None]
    if mixed:
        raise SleuthError(f"--{mixed[0]} is not about tokens: run `sleuth data check` without --tokens for it.")
    said = {name: value for name, value in asked.items() if value is not None}
    vocabulary = said.pop("vocab", None)
    return check_batch(path, validation=validation, vocabulary=vocabulary, progress=progress, **said)
