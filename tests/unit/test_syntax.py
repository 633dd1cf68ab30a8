"""Source is parsed by many threads at once, in a program whose garbage collections run Python code."""

from __future__ import annotations

import ast
import gc
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tensorsleuth.core.threads import syntax

NESTED = "x = " + "(" * 40 + "1" + " + 1)" * 40 + "\n"


class _Yields:
    """Garbage whose collection lets another thread run."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        time.sleep(0)


@pytest.fixture
def eager_collections() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(5, 1, 1)
    yield
    gc.set_threshold(*before)
    gc.collect()


def _parse(_: int) -> str:
    _Yields()
    return ast.dump(syntax.parse_module(NESTED)) + ast.dump(syntax.parse_expression("a + b"))


@pytest.mark.usefixtures("eager_collections")
def test_threads_parse_at_once() -> None:
    with ThreadPoolExecutor(4) as pool:
        trees = set(pool.map(_parse, range(60)))
    assert trees == {ast.dump(ast.parse(NESTED)) + ast.dump(ast.parse("a + b", mode="eval"))}
    assert gc.isenabled()


def test_a_child_parses_although_a_thread_of_its_parent_was_parsing() -> None:
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with syntax._lock:
            held.set()
            release.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    pid = os.fork()
    if not pid:
        syntax.parse_module("x = 1")
        os._exit(7)
    release.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
