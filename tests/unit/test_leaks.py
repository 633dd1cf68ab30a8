"""Curves that grow without end, and the lines that keep what others made."""

from __future__ import annotations

import numpy as np
import pytest

from tensorsleuth.core.catalog import Catalogue, Frame, Site
from tensorsleuth.diagnose.health_words import format_bytes
from tensorsleuth.diagnose.leaks.keeping_line import find_keeping_line
from tensorsleuth.diagnose.leaks.lifetimes import keeps_growing

STEPS = np.arange(40)


@pytest.mark.parametrize("counts", [STEPS, STEPS // 3, 100 + 2 * STEPS, STEPS + STEPS % 4], ids=str)
def test_what_grows_in_every_quarter_leaks(counts: np.ndarray) -> None:
    assert keeps_growing(counts)


@pytest.mark.parametrize(
    "counts",
    [
        np.zeros(40, int),
        np.minimum(STEPS, 12),  # a cache that fills up, a buffer with a bound
        np.minimum(STEPS, 32),  # also one that is full late
        (100 * (1 - 0.9**STEPS)).astype(int),  # ever fewer new keys
        STEPS % 10,  # emptied at the end of each epoch
        np.where(STEPS > 0, 6, 0),  # slots of an optimizer
        STEPS[::-1],
    ],
    ids=str,
)
def test_what_levels_off_or_is_emptied_does_not(counts: np.ndarray) -> None:
    assert not keeps_growing(counts)


KEEPS = """
def outer(batch):
    hidden = layer(batch)
    if True:
        self.maps.append(hidden)
    return hidden

def cached(key):
    if key not in table:
        table[key] = compute(key)

@functools.lru_cache(maxsize=None)
def forever(n):
    return compute(n)

@cache
def endless(n):
    return compute(n)

def innocent(batch):
    other.append(batch)
    result = compute(batch)
    return result

for batch in data:
    result = innocent(batch)
    everything += [result]
"""


def line_of(text: str) -> int:
    return next(number for number, line in enumerate(KEEPS.splitlines(), 1) if text in line)


def kept_at(*stack: str) -> int | None:
    frames = tuple(Frame("train.py", line_of(text), "f") for text in stack)
    found = find_keeping_line(Catalogue(sources={"train.py": KEEPS}), Site(1, frames, len(frames) - 1))
    return found.line if found is not None else None


def test_the_line_that_keeps_it_is_found_by_name() -> None:
    assert kept_at("layer(batch)") == line_of("self.maps.append")
    assert kept_at("table[key] = compute") == line_of("table[key] = compute")


def test_a_cache_without_bound_keeps_what_it_returns() -> None:
    assert kept_at("return compute(n)") is None  # the first one: it states its bound, although that is None
    frames = (Frame("train.py", line_of("def endless") + 1, "endless"),)
    found = find_keeping_line(Catalogue(sources={"train.py": KEEPS}), Site(1, frames, 0))
    assert found is not None and found.line == line_of("def endless")


def test_what_is_returned_is_looked_for_in_the_caller() -> None:
    assert kept_at("result = innocent", "result = compute(batch)") == line_of("everything += ")
    assert kept_at("result = compute(batch)") is None


def test_a_file_that_is_no_python_keeps_nothing() -> None:
    site = Site(1, (Frame("a.py", 1, "f"),), 0)
    assert find_keeping_line(Catalogue(sources={"a.py": "x = = 1"}), site) is None
    assert find_keeping_line(Catalogue(), site) is None


def test_amounts() -> None:
    assert [format_bytes(n) for n in (12, 2048, 3_800_000, 5e9)] == ["12 B", "2.0 kB", "3.8 MB", "5.0 GB"]
