"""Shows every batch to the checks, and gathers what they say."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.violation import Violation
from tensorsleuth.data.check import DATA, VALIDATION
from tensorsleuth.data.schema import Progress
from tensorsleuth.data.tokens.batch import Batch
from tensorsleuth.data.tokens.check import Check
from tensorsleuth.data.tokens.checks import checks
from tensorsleuth.data.tokens.padding import guess_padding
from tensorsleuth.data.tokens.reading import Maker, nothing_to_check
from tensorsleuth.data.tokens.report import TokenReport
from tensorsleuth.data.tokens.roles import LABELS
from tensorsleuth.data.tokens.setting import GIVEN, TOKENIZER, Setting

ORDER = {"error": 0, "warning": 1, "note": 2}


def judge(setting: Setting, batches: Iterable[Batch]) -> list[Violation]:
    """Return the violations in batches, worst first."""
    running = [kind(setting) for kind in checks()]
    for batch in batches:
        show(setting, batch, running)
    return gather(running)


def show(setting: Setting, batch: Batch, running: list[Check]) -> None:
    if setting.pad is None:
        _guess(setting, batch)
    for check in running:
        check.see(batch)


def gather(running: list[Check]) -> list[Violation]:
    found = [violation for check in running for violation in check.end()]
    return sorted(found, key=lambda one: ORDER.get(one.severity, 1))


def _guess(setting: Setting, batch: Batch) -> None:
    for stream in batch.streams:
        guess = guess_padding(stream.ids, stream.there, stream.kept)
        if guess is not None:
            setting.pad, setting.pad_by, setting.pad_why = guess
            return


def report(setting: Setting, sources: Mapping[str, Any], progress: Progress | None = None) -> TokenReport:
    """Read every part once."""
    began = time.perf_counter()
    running = [kind(setting) for kind in checks()]
    makers: dict[str, Maker] = {}
    rows = {}
    for part, source in sources.items():
        makers[part] = maker = Maker(setting, makers[DATA].roles if part == VALIDATION else None)
        rows[part] = 0
        for batch in _batches(maker, part, source):
            show(setting, batch, running)
            rows[part] = max(rows[part], batch.start + batch.rows)
            if progress is not None:
                progress(source.title, rows[part], source.rows)
        if not rows[part]:
            raise SleuthError(f"{source.title} has no rows: there is nothing to check.")
    taken = _taken(setting, makers[DATA].roles)
    titles = {part: source.title for part, source in sources.items()}
    return TokenReport(
        titles, rows, tuple(gather(running)), (), False, len(makers[DATA].roles), time.perf_counter() - began, taken
    )


def _batches(maker: Maker, part: str, source: Any) -> Iterator[Batch]:
    for block in source.blocks():
        batch = maker.batch(part, block)
        if not batch.streams and not batch.texts:
            raise nothing_to_check(source.title, source.columns)
        yield batch


def _taken(setting: Setting, roles: Mapping[str, str]) -> tuple[str, ...]:
    """Return the role given to each stream, so that people see when it is wrong."""
    parts = [f"{role.replace('_', ' ')} {name}" if role != name else name for name, role in roles.items()]
    size = setting.vocabulary.size
    parts += [f"vocabulary of {size:,}"] if size else []
    if setting.pad is not None:
        by = {GIVEN: "", TOKENIZER: ""}.get(setting.pad_by or "", f" (guessed: {setting.pad_why})")
        parts.append(f"padding {setting.pad}{by}")
    if LABELS in roles.values() and setting.shifted_by is not None:
        parts.append(f"labels are shifted by the {setting.shifted_by}")
    return tuple(parts)
