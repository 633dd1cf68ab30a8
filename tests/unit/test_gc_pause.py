"""The collector is quiet where it could wait for itself, and back on afterwards."""

from __future__ import annotations

import gc
import threading

import pytest

from tensorsleuth.core.threads.gc_pause import GcPauseLock, no_collection


def test_nothing_is_collected_under_the_lock() -> None:
    lock = GcPauseLock()
    with lock:
        assert not gc.isenabled()
        with lock, no_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_is_on_again_after_an_error() -> None:
    with pytest.raises(KeyError), GcPauseLock(), no_collection():
        raise KeyError
    assert gc.isenabled()


def test_a_program_that_turned_it_off_keeps_it_off() -> None:
    gc.disable()
    try:
        with GcPauseLock():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_it_is_on_again_after_many_threads() -> None:
    lock, found = GcPauseLock(), []

    def work() -> None:
        for _ in range(300):
            with lock:
                found.append(threading.get_ident())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2400 and gc.isenabled()
