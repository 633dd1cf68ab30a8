"""Checks data against a schema, or for what is always wrong: one pass over each part, in bounded memory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.data.block import Block, DataSource
from tensorsleuth.data.check import AGAINST, DATA, VALIDATION, CheckContext, DataCheck
from tensorsleuth.data.checks import checks
from tensorsleuth.data.part_names import bind_columns
from tensorsleuth.data.prefetch import prefetched
from tensorsleuth.data.readers import open_source
from tensorsleuth.data.report import DataReport
from tensorsleuth.data.schema import Progress, Schema


def check(
    schema: Schema | None, data: Any, validation: Any = None, against: Any = None, progress: Progress | None = None
) -> DataReport:
    """Read every part once, and pass each block to the checks."""
    began = time.perf_counter()
    given = {DATA: data, VALIDATION: validation, AGAINST: against}
    sources = {part: open_source(one, schema) for part, one in given.items() if one is not None}
    names = {part: bind_columns(schema, source.columns) for part, source in sources.items()}
    check_context = CheckContext(
        schema, {part: renamed_columns(source, names[part]) for part, source in sources.items()}
    )
    running = [kind(check_context) for kind in checks()]
    rows = {
        part: _read(part, source, names[part], running, progress, check_context) for part, source in sources.items()
    }
    return _report(check_context, sources, rows, running, time.perf_counter() - began)


def _read(
    part: str,
    data_source: DataSource,
    names: dict[str, str],
    running: list[DataCheck],
    progress: Progress | None,
    check_context: CheckContext,
) -> int:
    shown_to = [check for check in running if part in check.parts]
    rows, blocks = 0, part_blocks(part, data_source, names)
    for block in (
        prefetched(blocks, check_context.inputs, check_context.hashes_rows(part))
        if data_source.can_prefetch
        else blocks
    ):
        for check in shown_to:
            check.see(block)
        rows = max(rows, block.start + block.rows)
        if progress is not None:
            progress(data_source.title, rows, data_source.rows)
    if not rows and part == DATA:
        raise SleuthError(f"{data_source.title} has no rows: there is nothing to check.")
    return rows


def part_blocks(part: str, data_source: DataSource, names: dict[str, str]) -> Iterator[Block]:
    """Yield the blocks of a source under the schema's names."""
    for block in data_source.blocks():
        pieces = {names.get(name, name): piece for name, piece in block.pieces.items()}
        yield Block(block.start, pieces, part, block.whole, block.count)


def renamed_columns(data_source: DataSource, names: dict[str, str]) -> Any:
    return tuple(replace(column, name=names.get(column.name, column.name)) for column in data_source.columns)


def _report(
    check_context: CheckContext,
    sources: dict[str, DataSource],
    rows: dict[str, int],
    running: list[DataCheck],
    seconds: float,
) -> DataReport:
    found = [violation for check in running for violation in check.end()]
    order = {column.name: place for place, column in enumerate(check_context.columns[DATA])}
    found.sort(key=lambda one: (one.severity != "error", order.get(one.name.partition("[")[0], len(order)), one.rule))
    notes = tuple(note for source in sources.values() for note in source.notes)
    titles = {part: source.title for part, source in sources.items()}
    return DataReport(
        titles, rows, tuple(found), notes, check_context.schema is not None, len(check_context.columns[DATA]), seconds
    )
