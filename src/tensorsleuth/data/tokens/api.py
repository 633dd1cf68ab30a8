"""`tensorsleuth.check_batch`: checks ids, masks and labels before a model is trained on them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.data.block import Column
from tensorsleuth.data.check import DATA, VALIDATION
from tensorsleuth.data.schema import Progress
from tensorsleuth.data.tokens.judging import check_tokens
from tensorsleuth.data.tokens.reading import token_source
from tensorsleuth.data.tokens.report import TokenReport
from tensorsleuth.data.tokens.roles import NAMES_OF_ROLE
from tensorsleuth.data.tokens.settings import TokenSettings
from tensorsleuth.data.tokens.tokenizers import vocabulary_of

ACTIONS = ("raise", "warn", "record")


def check_batch(
    inputs: Any,
    labels: Any = None,
    tokenizer: Any = None,
    *,
    vocabulary: Any = None,
    pad: int | None = None,
    mask: Any = None,
    sample_weight: Any = None,
    validation: Any = None,
    ignore: int = -100,
    causal: bool | None = None,
    shifted_by: str | None = None,
    max_length: int | None = None,
    on_violation: str | None = None,
    progress: Progress | None = None,
) -> TokenReport:
    """Report problems of a batch of tokens, or a data set of them, before a model is trained on it.

    Args:
        inputs: ids; a dict as tokenizers of Hugging Face and keras-hub give it (input_ids or token_ids,
            attention_mask or padding_mask, labels…); a tuple (x, y, sample_weight); texts; a tf.data.Dataset; a file.
        labels: if they are not among the inputs: one for each position, or one for each row.
        tokenizer: of Hugging Face, keras-hub, Keras's TextVectorization; a list, dict or file of tokens.
        vocabulary: the number of the model's ids, if it differs from the tokenizer's; or tokens, as above.
        pad: the padding id; if it is unknown, it is guessed, and the report says so.
        mask: if it is not among the inputs: 1 on tokens, 0 on padding.
        sample_weight: of each row or each position.
        validation: a second set, which should have no row of the first.
        ignore: the label that the loss ignores.
        causal: whether the model predicts the next token.
        shifted_by: "model" if the model shifts the labels by one (as Hugging Face's do), "data" if you do.
        max_length: the number of tokens at which samples are truncated.
        on_violation: "raise" a DataError, "warn", or "record" in the trace; without it, there is only the report.
        progress: a function that gets the title of the source, the rows so far, and the rows in all.
    """
    if on_violation is not None and on_violation not in ACTIONS:
        raise SleuthError(f"on_violation={on_violation!r}: choose one of {', '.join(ACTIONS)}, or leave it out.")
    sources = {DATA: token_source(inputs, labels=labels, mask=mask, sample_weight=sample_weight)}
    token_settings = TokenSettings(
        vocabulary_of(tokenizer, vocabulary), pad, ignore=ignore, causal=causal, shifted_by=shifted_by,
        max_length=max_length, compared=validation is not None,
        together=labels is None and _together(sources[DATA].columns),
    )  # fmt: skip
    if validation is not None:
        sources[VALIDATION] = token_source(validation)
    found = check_tokens(token_settings, sources, progress)
    if on_violation is not None:
        _act(found, on_violation)
    return found


def _together(columns: Iterable[Column]) -> bool:
    """Return whether labels and ids are in one dict, as for Hugging Face models."""
    names = {column.name for column in columns}
    return "labels" in names and bool(names & set(NAMES_OF_ROLE["ids"]))


def _act(found: TokenReport, how: str) -> None:
    """Write the violations to the trace, if one is recorded; then warn, or raise."""
    from tensorsleuth.recording.calling_line import calling_line
    from tensorsleuth.recording.violations.actions import handle_violation

    at = calling_line()
    for one in found.errors:
        here = replace(one, file=at.file, line=at.line, code=at.code, function=at.function)
        handle_violation(here, "warn" if how == "warn" else "record")
    if how == "raise":
        found.raise_if_bad()
