"""Refuses traces of another format, and says which version of tensorsleuth opens them (docs/stability.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tensorsleuth.core.version import TRACE_FORMAT, VERSION


def format_mismatch(name: str, meta: Mapping[str, Any]) -> str | None:
    """Return that the file `name` has another format than this version reads, or None if it does not."""
    number = meta.get("version", TRACE_FORMAT)
    is_known = number == TRACE_FORMAT or not isinstance(number, int)
    return None if is_known else f"{name} has format {number}, not {TRACE_FORMAT}"


def version_message(folder: str, meta: Mapping[str, Any], seen: Sequence[str]) -> str:
    """Return one sentence for all files of a process or a run; `seen` lists the differences."""
    version = meta.get("tensorsleuth")
    return (
        f"{folder} was written by {_writer(version)}, and this is {VERSION}, which cannot read it "
        f"({'; '.join(seen)}). {_opens_with(version)}, or record the program again"
    )


def _writer(version: object) -> str:
    if not isinstance(version, str):
        return "another version of tensorsleuth, which does not say its number"
    return f"another build of tensorsleuth {VERSION}" if version == VERSION else f"tensorsleuth {version[:40]}"


def _opens_with(version: object) -> str:
    if not isinstance(version, str) or version == VERSION:
        return "Read it with the version that wrote it"
    newer = " or newer" if _numbers(version) > _numbers(VERSION) else ""
    return f"Read it with tensorsleuth {version[:40]}{newer}"


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d{1,9}", version[:40])]
