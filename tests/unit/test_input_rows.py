"""The rows of ids that a model was given, as hashes: what the native library writes, and what is read of it."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.test_trace_fuzz import FUZZ, changes

from tensorsleuth.core.array import Array
from tensorsleuth.core.fit_position import Phase
from tensorsleuth.core.layout.rows import INPUT_ROW, CallKind, EventKind, LongRowFlag
from tensorsleuth.native.loader import CallRow, RowPlace, SessionPlan, TensorView, trace_paths
from tensorsleuth.trace.series.input_rows import ROWS_FILE, InputRows
from tensorsleuth.trace.storage.ring_reader import RingFile
from tensorsleuth.trace.storage.size_plan import INPUT_ROW_CHUNK_ROWS, INPUT_ROW_CHUNKS

TRAINED, HELD_OUT, OTHER = 65536, 65537, 65538
INPUT, HELD = 3, 4  # native/src/observers/layer_stats.h
INT32, INT64, FLOAT = 3, 9, 1
PAD = 7
TOKENS = st.lists(st.integers(0, 6), min_size=4, max_size=40)
HASHER = """
#include "observers/input_rows.h"
extern "C" void hash_ids(const uint32_t* ids, uint64_t width, sleuth::InputRow* row) {
  sleuth::input_rows::hash_ids(ids, width, row);
}
"""


@pytest.fixture(scope="module")
def hashed(
    build_library: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[list[int]], Array]:
    """What is kept of one row."""
    source = tmp_path_factory.mktemp("hasher") / "hasher.cc"
    source.write_text(HASHER)
    library = ctypes.CDLL(str(build_library("libhasher.so", source)))

    def of(ids: list[int]) -> Array:
        given, row = np.array(ids, np.uint32), np.zeros(1, INPUT_ROW)
        library.hash_ids(
            ctypes.c_void_p(given.ctypes.data), ctypes.c_uint64(len(ids)), ctypes.c_void_p(row.ctypes.data)
        )
        row["kind"] = 1
        return row

    return of


def read(*rows: Array) -> InputRows:
    found = InputRows(SimpleNamespace(folder=Path("/nowhere")))  # type: ignore[arg-type]
    found._rows = np.concatenate([np.zeros(0, INPUT_ROW), *rows])
    return found


def sample(rows: Array, padding: int | None = PAD) -> list[int]:
    return list(read(rows).samples({0: padding}, 0).tolist())


# ---- the hash


@given(ids=TOKENS, widths=st.tuples(st.integers(0, 9), st.integers(0, 9)), before=st.booleans())
def test_padding_of_any_width_makes_no_difference(
    hashed: Callable[[list[int]], Array], ids: list[int], widths: tuple[int, int], before: bool
) -> None:
    one, other = ([PAD] * width + ids if before else ids + [PAD] * width for width in widths)
    assert sample(hashed(one)) == sample(hashed(other)) and len(sample(hashed(one))) == 1


@given(ids=TOKENS, others=TOKENS)
def test_other_rows_have_other_hashes(hashed: Callable[[list[int]], Array], ids: list[int], others: list[int]) -> None:
    assert (sample(hashed(ids)) == sample(hashed(others))) == (ids == others)


@given(ids=st.lists(st.integers(0, 6), min_size=1, max_size=3), width=st.integers(0, 9), before=st.booleans())
def test_rows_of_few_tokens_do_not_count(
    hashed: Callable[[list[int]], Array], ids: list[int], width: int, before: bool
) -> None:
    assert sample(hashed([PAD] * width + ids if before else ids + [PAD] * width)) == []


def test_nothing_but_padding_does_not_count(hashed: Callable[[list[int]], Array]) -> None:
    assert sample(hashed([PAD] * 12)) == [] and len(sample(hashed([PAD] * 12), None)) == 1


def test_an_end_of_text_that_is_also_padding_is_left_out_everywhere(hashed: Callable[[list[int]], Array]) -> None:
    """The edge: with or without its end, a text is the same one."""
    assert sample(hashed([1, 2, 3, 4, PAD])) == sample(hashed([1, 2, 3, 4, PAD, PAD])) == sample(hashed([1, 2, 3, 4]))


def test_where_padding_is_not_known_the_width_counts(hashed: Callable[[list[int]], Array]) -> None:
    assert sample(hashed([1, 2, 3, 4, PAD]), None) != sample(hashed([1, 2, 3, 4, PAD, PAD]), None)


# ---- what is read


def kept(series: int, hashes: list[int], batch: int = 1000, fit: int = 1, flags: int = LongRowFlag.WHOLE) -> Array:
    rows = np.zeros(len(hashes), INPUT_ROW)
    rows["whole"], rows["row"] = hashes, np.arange(len(hashes))
    for name, value in {"series": series, "batch": batch, "fit": fit, "flags": flags, "kind": 1}.items():
        rows[name] = value
    return rows


def test_different_samples_of_one_fit() -> None:
    rows = read(kept(1, [5, 6, 5]), kept(1, [9], fit=2), kept(2, [6]), kept(1, [8], flags=LongRowFlag.HEADLESS))
    assert rows.samples({1: None}, 1).tolist() == [5, 6]
    assert rows.samples({1: None}, 2).tolist() == [9] and rows.samples({}, 1).tolist() == []
    assert rows.fits(1) == [1, 2] and rows.fits(3) == []


def test_a_sample_of_two_inputs_is_the_same_where_both_are() -> None:
    questions, texts = kept(1, [1, 1, 2]), kept(2, [7, 8, 7])
    both = read(questions, texts).samples({1: None, 2: None}, 1)
    assert len(both) == 3
    again = read(kept(1, [1, 2]), kept(2, [8, 8])).samples({1: None, 2: None}, 1)
    assert len(np.intersect1d(both, again)) == 1
    turned = read(kept(1, [7]), kept(2, [1])).samples({1: None, 2: None}, 1)
    assert not len(np.intersect1d(both, turned))


def test_places_that_are_there_twice_are_not_joined() -> None:
    """Replicas number their rows from 0, each."""
    rows = read(kept(1, [1, 2]), kept(1, [3]), kept(2, [4, 5]))
    assert len(rows.samples({1: None, 2: None}, 1)) == 1 and len(rows.samples({1: None}, 1)) == 3


def test_an_old_trace_has_none(tmp_path: Path) -> None:
    rows = InputRows(SimpleNamespace(folder=tmp_path))  # type: ignore[arg-type]
    assert rows.fits(1) == [] and not len(rows.samples({1: 0}, 1))


# ---- what is written


class Recording:
    """The native library, recording into a folder."""

    def __init__(self, library: ctypes.CDLL, folder: Path, chunks: int = INPUT_ROW_CHUNKS) -> None:
        self.library, self.folder = library, folder
        assert library.sleuth_open(ctypes.byref(SessionPlan(*trace_paths(folder), 1, 512, 100, 0, 512, 100, 0))) == 0
        for series, kind in ((TRAINED, INPUT), (HELD_OUT, HELD), (OTHER, 0)):
            library.sleuth_inside_set(series, kind, 0)
        path = str(folder / ROWS_FILE).encode()
        sizes = ctypes.c_uint64(INPUT_ROW_CHUNK_ROWS), ctypes.c_uint64(chunks)
        assert library.sleuth_inside_open_rows(path, *sizes) == 0

    def give(self, ids: Array, series: int = TRAINED, step: int = 5, kind: EventKind = EventKind.GRAPH) -> None:
        dtype = {"int32": INT32, "int64": INT64, "float32": FLOAT}[ids.dtype.name]
        view = TensorView(ids.ctypes.data, ids.size, ids.nbytes, dtype, ids.ndim)
        view.dims[: ids.ndim] = ids.shape
        self.library.sleuth_inside_rows(series, ctypes.byref(view), ctypes.byref(RowPlace(step, 0, 0, 0, kind)))

    def moves(self, phase: Phase, epoch: int = 0, batch: int = 0) -> None:
        call = CallRow(op=phase, kind=CallKind.BATCH, inputs_count=2)
        call.inputs[0], call.inputs[1] = epoch, batch
        self.library.sleuth_call(ctypes.byref(call))

    def rows(self) -> Array:
        self.library.sleuth_close()
        return RingFile(self.folder / ROWS_FILE, INPUT_ROW).array


@pytest.fixture
def recording(recorder: ctypes.CDLL, tmp_path: Path) -> Any:
    yield Recording(recorder, tmp_path)
    recorder.sleuth_close()


def ids_of(rows: int, width: int = 6, seed: int = 1) -> Array:
    return np.random.default_rng(seed).integers(2, 90, (rows, width)).astype(np.int32)


def test_every_row_has_one(recording: Recording, hashed: Callable[[list[int]], Array]) -> None:
    ids = ids_of(100)
    recording.library.sleuth_set_step(ctypes.c_int64(3))
    recording.give(ids)
    rows = recording.rows()
    assert rows["row"].tolist() == list(range(100)) and set(rows["step"].tolist()) == {3}
    assert set(rows["series"].tolist()) == {TRAINED} and len(set(rows["batch"].tolist())) == 1
    for name in ("whole", "headless", "tailless", "first", "last", "flags"):
        assert rows[name].tolist() == [int(hashed(row.tolist())[name][0]) for row in ids], name


def test_the_type_of_ids_makes_no_difference(recording: Recording) -> None:
    recording.give(ids_of(3) - 50)
    recording.give((ids_of(3) - 50).astype(np.int64))
    rows = recording.rows()
    assert rows["whole"][:3].tolist() == rows["whole"][3:].tolist()


@pytest.mark.parametrize(
    "ids",
    [
        ids_of(4)[0], ids_of(4)[None], ids_of(4).astype(np.float32), ids_of(4, 2), ids_of(4) % 2, ids_of(0),
        np.full((1, (1 << 18) + 1), 9, np.int32),
    ],
    ids=["a row", "rank 3", "floats", "two columns", "a mask", "no rows", "a row of over 1 MB"],
)  # fmt: skip
def test_what_is_no_batch_of_ids_has_none(recording: Recording, ids: Array) -> None:
    recording.give(np.ascontiguousarray(ids))
    assert not len(recording.rows())


def test_the_bounds_of_a_batch(recording: Recording) -> None:
    recording.give(ids_of(1500))
    recording.give(ids_of(10, (1 << 18) // 3))  # a third of 1 MB each
    assert len(recording.rows()) == 1024 + 3


def test_other_series_and_the_optimiser_have_none(recording: Recording) -> None:
    recording.give(ids_of(4), OTHER)
    recording.give(ids_of(4), step=0)
    recording.give(ids_of(4), 7)
    assert not len(recording.rows())


def test_what_a_fit_validates_with_and_nothing_else(recording: Recording) -> None:
    recording.give(ids_of(1), HELD_OUT)  # nothing says that this is a fit's
    recording.moves(Phase.EVALUATE)
    recording.give(ids_of(1), HELD_OUT)
    recording.moves(Phase.TRAIN)
    recording.moves(Phase.TRAIN, 1, 1)
    recording.give(ids_of(2))
    recording.moves(Phase.EVALUATE, 1, 1)
    recording.give(ids_of(3), HELD_OUT)
    recording.moves(Phase.NONE)
    recording.give(ids_of(1), HELD_OUT)
    recording.moves(Phase.TRAIN)
    recording.give(ids_of(4))
    rows = recording.rows()
    assert rows["series"].tolist() == [TRAINED] * 2 + [HELD_OUT] * 3 + [TRAINED] * 4
    first = int(rows["fit"][0])
    assert rows["fit"].tolist() == [first] * 5 + [first + 1] * 4


def test_a_tiny_run_stays_tiny_and_a_long_one_is_bounded(recorder: ctypes.CDLL, tmp_path: Path) -> None:
    tiny = Recording(recorder, tmp_path)
    tiny.give(ids_of(10))
    assert (tmp_path / ROWS_FILE).stat().st_size < 64 << 10
    tiny.rows()
    (tmp_path / "long").mkdir()
    long = Recording(recorder, tmp_path / "long", chunks=4)
    for step in range(1, 9):
        recorder.sleuth_set_step(ctypes.c_int64(step))
        long.give(ids_of(512))
    rows = long.rows()
    assert len(rows) == 4 * INPUT_ROW_CHUNK_ROWS and set(rows["step"].tolist()) == {5, 6, 7, 8}, "the oldest give way"
    assert INPUT_ROW_CHUNK_ROWS * INPUT_ROW.itemsize * INPUT_ROW_CHUNKS <= 16 << 20


def test_threads_and_a_child_that_is_forked(recording: Recording) -> None:
    batches = [ids_of(64, seed=seed) for seed in range(4)]

    def give(batch: Array) -> None:
        for _ in range(20):
            recording.give(batch)

    threads = [threading.Thread(target=give, args=(batch,)) for batch in batches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    child = os.fork()
    if not child:
        recording.give(batches[0])
        recording.library.sleuth_close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    recording.library.sleuth_close()
    recording.give(batches[0])  # nobody records
    rows = recording.rows()
    assert len(rows) == 4 * 20 * 64 and len(np.unique(rows["whole"])) == 4 * 64


@FUZZ
@given(change=changes())
def test_any_change_to_the_file(
    recorder: ctypes.CDLL, tmp_path_factory: pytest.TempPathFactory, change: Callable[[bytearray], None]
) -> None:
    folder = tmp_path_factory.mktemp("changed")
    recording = Recording(recorder, folder)
    recording.give(ids_of(40))
    recording.rows()
    data = bytearray((folder / ROWS_FILE).read_bytes())
    change(data)
    (folder / ROWS_FILE).write_bytes(data)
    rows = InputRows(SimpleNamespace(folder=folder))  # type: ignore[arg-type]
    assert len(rows.samples({TRAINED: 0, HELD_OUT: None}, 0)) <= 40 and len(rows.fits(TRAINED)) <= 40
