"""Passes every batch to the checks, and gathers their violations."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.violation import Violation
from tensorsleuth.data.check import DATA, VALIDATION
from tensorsleuth.data.schema import Progress
from tensorsleuth.data.tokens.batch import TokenBatch
from tensorsleuth.data.tokens.check import TokenCheck
from tensorsleuth.data.tokens.checks import checks
from tensorsleuth.data.tokens.padding import guess_padding
from tensorsleuth.data.tokens.reading import BatchMaker, nothing_to_check
from tensorsleuth.data.tokens.report import TokenReport
from tensorsleuth.data.tokens.roles import LABELS
from tensorsleuth.data.tokens.settings import PAD_FROM_TOKENIZER, PAD_GIVEN, TokenSettings

SEVERITY_ORDER = {"error": 0, "warning": 1, "note": 2}


def judge_batches(token_settings: TokenSettings, batches: Iterable[TokenBatch]) -> list[Violation]:
    """Return the violations in batches, worst first."""
    running = [kind(token_settings) for kind in checks()]
    for batch in batches:
        show_batch(token_settings, batch, running)
    return gather_violations(running)


def show_batch(token_settings: TokenSettings, token_batch: TokenBatch, running: list[TokenCheck]) -> None:
    if token_settings.pad is None:
        _guess(token_settings, token_batch)
    for check in running:
        check.see(token_batch)


def gather_violations(running: list[TokenCheck]) -> list[Violation]:
    found = [violation for check in running for violation in check.end()]
    return sorted(found, key=lambda one: SEVERITY_ORDER.get(one.severity, 1))


def _guess(token_settings: TokenSettings, token_batch: TokenBatch) -> None:
    for stream in token_batch.streams:
        guess = guess_padding(stream.ids, stream.present, stream.kept_by_mask)
        if guess is not None:
            token_settings.pad, token_settings.pad_by, token_settings.pad_why = guess
            return


def check_tokens(
    token_settings: TokenSettings, sources: Mapping[str, Any], progress: Progress | None = None
) -> TokenReport:
    """Read every part once."""
    began = time.perf_counter()
    running = [kind(token_settings) for kind in checks()]
    makers: dict[str, BatchMaker] = {}
    rows = {}
    for part, source in sources.items():
        makers[part] = maker = BatchMaker(token_settings, makers[DATA].roles if part == VALIDATION else None)
        rows[part] = 0
        for batch in _batches(maker, part, source):
            show_batch(token_settings, batch, running)
            rows[part] = max(rows[part], batch.start + batch.rows)
            if progress is not None:
                progress(source.title, rows[part], source.rows)
        if not rows[part]:
            raise SleuthError(f"{source.title} has no rows: there is nothing to check.")
    taken = _describe_roles(token_settings, makers[DATA].roles)
    titles = {part: source.title for part, source in sources.items()}
    return TokenReport(
        titles,
        rows,
        tuple(gather_violations(running)),
        (),
        False,
        len(makers[DATA].roles),
        time.perf_counter() - began,
        taken,
    )


def _batches(batch_maker: BatchMaker, part: str, source: Any) -> Iterator[TokenBatch]:
    for block in source.blocks():
        batch = batch_maker.batch(part, block)
        if not batch.streams and not batch.texts:
            raise nothing_to_check(source.title, source.columns)
        yield batch


def _describe_roles(token_settings: TokenSettings, roles: Mapping[str, str]) -> tuple[str, ...]:
    """Return the role given to each stream, so that people see when it is wrong."""
    parts = [f"{role.replace('_', ' ')} {name}" if role != name else name for name, role in roles.items()]
    size = token_settings.vocabulary.size
    parts += [f"vocabulary of {size:,}"] if size else []
    if token_settings.pad is not None:
        by = {PAD_GIVEN: "", PAD_FROM_TOKENIZER: ""}.get(
            token_settings.pad_by or "", f" (guessed: {token_settings.pad_why})"
        )
        parts.append(f"padding {token_settings.pad}{by}")
    if LABELS in roles.values() and token_settings.shifted_by is not None:
        parts.append(f"labels are shifted by the {token_settings.shifted_by}")
    return tuple(parts)
