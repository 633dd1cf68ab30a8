"""Holds data to a schema, or to what is always wrong: one pass over each part, in bounded memory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.data.block import Block, Source
from tensorsleuth.data.check import AGAINST, DATA, VALIDATION, Case, Check
from tensorsleuth.data.checks import checks
from tensorsleuth.data.part_names import bind
from tensorsleuth.data.prefetch import looked_ahead
from tensorsleuth.data.readers import open_source
from tensorsleuth.data.report import DataReport
from tensorsleuth.data.schema import Progress, Schema


def check(
    schema: Schema | None, data: Any, validation: Any = None, against: Any = None, progress: Progress | None = None
) -> DataReport:
    """Read every part once, and show each block to the checks."""
    began = time.perf_counter()
    given = {DATA: data, VALIDATION: validation, AGAINST: against}
    sources = {part: open_source(one, schema) for part, one in given.items() if one is not None}
    names = {part: bind(schema, source.columns) for part, source in sources.items()}
    case = Case(schema, {part: renamed(source, names[part]) for part, source in sources.items()})
    running = [kind(case) for kind in checks()]
    rows = {part: _read(part, source, names[part], running, progress, case) for part, source in sources.items()}
    return _report(case, sources, rows, running, time.perf_counter() - began)


def _read(
    part: str, source: Source, names: dict[str, str], running: list[Check], progress: Progress | None, case: Case
) -> int:
    shown_to = [check for check in running if part in check.parts]
    rows, blocks = 0, part_blocks(part, source, names)
    for block in looked_ahead(blocks, case.inputs, case.hashed(part)) if source.ours else blocks:
        for check in shown_to:
            check.see(block)
        rows = max(rows, block.start + block.rows)
        if progress is not None:
            progress(source.title, rows, source.rows)
    if not rows and part == DATA:
        raise SleuthError(f"{source.title} has no rows: there is nothing to check.")
    return rows


def part_blocks(part: str, source: Source, names: dict[str, str]) -> Iterator[Block]:
    """The blocks of a source under the schema's names."""
    for block in source.blocks():
        pieces = {names.get(name, name): piece for name, piece in block.pieces.items()}
        yield Block(block.start, pieces, part, block.whole, block.count)


def renamed(source: Source, names: dict[str, str]) -> Any:
    return tuple(replace(column, name=names.get(column.name, column.name)) for column in source.columns)


def _report(
    case: Case, sources: dict[str, Source], rows: dict[str, int], running: list[Check], seconds: float
) -> DataReport:
    found = [violation for check in running for violation in check.end()]
    order = {column.name: place for place, column in enumerate(case.columns[DATA])}
    found.sort(key=lambda one: (one.severity != "error", order.get(one.name.partition("[")[0], len(order)), one.rule))
    notes = tuple(note for source in sources.values() for note in source.notes)
    titles = {part: source.title for part, source in sources.items()}
    return DataReport(titles, rows, tuple(found), notes, case.schema is not None, len(case.columns[DATA]), seconds)
