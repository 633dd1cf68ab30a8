"""Reads the parameters of a question. They are untrusted text."""

from __future__ import annotations

import math
import re

from tensorsleuth.ui.web.run.errors import BadRequest
from tensorsleuth.ui.web.run.question import Parameters

DEFAULT_PAGE_ROWS = 100  # in an answer without `end`
MAX_PAGE_ROWS = 1000
MAX_TEXT_LENGTH = 500  # letters of a filter
_MAX_EXACT_INTEGER = 1 << 53  # the largest integer that JSON holds exactly


def integer(asked: Parameters, name: str, default: int, least: int = 0, most: int = _MAX_EXACT_INTEGER) -> int:
    """Return an integer, limited to its bounds."""
    given = asked.get(name, "")
    if not given:
        return default
    if not re.fullmatch(r"-?\d{1,18}", given, re.ASCII):
        raise BadRequest(f"{name} is {given[:40]!r}, not an integer.", f"Leave it out, or use {name}={default}.")
    return min(max(int(given), least), most)


def optional_integer(asked: Parameters, name: str) -> int | None:
    """Return an integer, or None if it is missing."""
    return integer(asked, name, 0, -_MAX_EXACT_INTEGER) if asked.get(name) else None


def number(asked: Parameters, name: str, default: float) -> float:
    """Return a finite number."""
    given = asked.get(name, "")
    if not given:
        return default
    try:
        found = float(given)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise BadRequest(f"{name} is {given[:40]!r}, not a number.", "Leave it out to get everything.")
    return found


def boolean(asked: Parameters, name: str) -> bool | None:
    """Return true or false, or None if it is missing."""
    given = asked.get(name, "")
    if given not in ("", "true", "false", "1", "0"):
        raise BadRequest(f"{name} is {given[:40]!r}.", f"Use {name}=true or {name}=false.")
    return given in ("true", "1") if given else None


def one_of(asked: Parameters, name: str, choices: tuple[str, ...], default: str) -> str:
    """Return one of some words."""
    given = asked.get(name) or default
    if given not in choices and given != default:
        raise BadRequest(f"{name} is {given[:40]!r}.", f"Use one of {', '.join(choices)}.")
    return given


def text(asked: Parameters, name: str) -> str | None:
    """Return a text, or None if it is missing."""
    given = asked.get(name) or None
    if given is not None and len(given) > MAX_TEXT_LENGTH:
        raise BadRequest(f"{name} has {len(given):,} letters.", f"Use at most {MAX_TEXT_LENGTH}.")
    return given


def page(asked: Parameters, total: int, longest: int = MAX_PAGE_ROWS) -> tuple[int, int]:
    """Return begin and end of the requested part of a list."""
    begin = min(integer(asked, "begin", 0), total)
    end = integer(asked, "end", begin + DEFAULT_PAGE_ROWS)
    return begin, min(max(end, begin), begin + longest, total)


def pattern(given: str, ignore_case: bool = False) -> re.Pattern[str]:
    """Return a regular expression. An invalid one, as while typing, is searched for literally."""
    flags = re.IGNORECASE if ignore_case else re.NOFLAG
    try:
        return re.compile(given, flags)
    except (re.error, OverflowError, RecursionError):
        return re.compile(re.escape(given), flags)
