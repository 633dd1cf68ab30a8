"""The line that chose a number which another line only got as an argument."""

from __future__ import annotations

import ast
import re

from tensorsleuth.core.catalog import Frame, Site
from tensorsleuth.diagnose.expressions import walk_source
from tensorsleuth.trace.process.process import ProcessTrace

_OWN_ARGUMENTS = {"self", "cls"}


def argument_line(process: ProcessTrace, site: Site | None, number: int | None) -> Frame | None:
    """Return the line that called the function of a line, if the number is an argument there: it is not written."""
    frame = site.frame if site is not None else None
    if site is None or frame is None or site.user_index < 1:
        return None
    source = process.catalogue.sources.get(frame.file, "")
    lines = source.splitlines()
    code = lines[frame.line - 1] if 0 < frame.line <= len(lines) else ""
    is_written = re.search(rf"\b{number}\b", code) is not None
    return site.frames[site.user_index - 1] if not is_written and _takes_arguments(source, frame.line) else None


def _takes_arguments(source: str, line: int) -> bool:
    """Return whether a line uses an argument of the function that it is in."""
    functions = [one for one in walk_source(source) if isinstance(one, ast.FunctionDef)]
    around = [one for one in functions if one.lineno <= line <= (one.end_lineno or 0)]
    inner = max(around, key=lambda one: one.lineno, default=None)
    if inner is None:
        return False
    taken = {one.arg for one in (*inner.args.posonlyargs, *inner.args.args, *inner.args.kwonlyargs)} - _OWN_ARGUMENTS
    used = {one.id for one in ast.walk(inner) if isinstance(one, ast.Name) and one.lineno == line}
    return bool(taken & used)
