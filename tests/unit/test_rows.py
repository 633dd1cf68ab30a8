"""The rows that C++ writes are those that NumPy reads, byte for byte."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorsleuth.core.layout import rows, thread_slots
from tensorsleuth.core.layout.ring_header import HEADER
from tensorsleuth.core.modes import Mode

IN_HEADER = ("rows_offset", "head", "closed")
LAYOUTS: dict[str, np.dtype[Any]] = {"Event": rows.EVENT, "Call": rows.CALL, "Value": rows.VALUE}
LAYOUTS |= {"MemorySample": rows.MEMORY, "BufferUse": rows.BUFFER, "Passed": rows.PASSED}
LAYOUTS |= {"InputRow": rows.INPUT_ROW}
LAYOUTS |= {"Begun": thread_slots.BEGUN, "ThreadSlot": thread_slots.SLOT}
NUMBERS: dict[str, int] = {
    "kNesting": thread_slots.MAX_BEGUN_OPS,
    "kEager": rows.EventKind.EAGER,
    "kGraph": rows.EventKind.GRAPH,
    "kOp": rows.CallKind.OP,
    "kFunction": rows.CallKind.FUNCTION,
    "kMoreInputs": rows.CallKind.MORE_INPUTS,
    "kJoin": rows.CallKind.JOIN,
    "kFailed": rows.CallKind.FAILED,
    "kEnded": rows.CallKind.ENDED,
    "kBatch": rows.CallKind.BATCH,
    "kEagerBuffer": rows.BufferKind.EAGER,
    "kGraphBuffer": rows.BufferKind.GRAPH,
    "kFreedBuffer": rows.BufferKind.FREED,
    "buffers::kLeast": rows.MIN_BUFFER_BYTES,
    **{f"kLong{flag.name.title()}": flag for flag in rows.LongRowFlag if flag.name},
    "kLookShift": rows.SAMPLE_TIME_SHIFT,
    "kHasValue": rows.EventFlag.VALUE,
    **{f"k{flag.name.title()}": flag for flag in rows.EventFlag if flag.name and flag.name != "VALUE"},
    "kNoTensor": Mode.NO_TENSOR,
    "kShape": Mode.SHAPE,
    "kCurt": Mode.CURT_HEALTH,
    "kConcise": Mode.CONCISE_HEALTH,
    "kFull": Mode.FULL_HEALTH,
    "kNumerics": Mode.FULL_NUMERICS,
    "kValue": Mode.FULL_TENSOR,
}
PRINT = """
#include <cstddef>
#include <cstdio>
#include <type_traits>
#include "files/buffers.h"
#include "files/ring.h"
#include "files/rows.h"
#include "files/threads.h"
using namespace sleuth;
template <class T> char kind() {
  using E = std::remove_extent_t<T>;
  return std::is_floating_point_v<E> ? 'f' : std::is_signed_v<E> ? 'i' : 'u';
}
#define FIELD(T, F) printf(#T "." #F " %zu %zu %c\\n", offsetof(T, F), sizeof(T::F), kind<decltype(T::F)>());
#define NUMBER(N) printf(#N " %lld\\n", (long long)N);
int main() {
"""


@pytest.fixture(scope="module")
def said(build_library: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What the C++ compiler makes of rows.h: a name, then numbers."""
    lines = [f"FIELD({struct}, {field})" for struct, dtype in LAYOUTS.items() for field in dtype.names or ()]
    lines += [f'printf("{struct} %zu\\n", sizeof({struct}));' for struct in LAYOUTS]
    lines += [f"NUMBER({name})" for name in NUMBERS]
    lines += [f'printf("{field} %zu\\n", offsetof(RingHeader, {field}));' for field in IN_HEADER]
    source = tmp_path_factory.mktemp("rows") / "rows.cc"
    source.write_text(PRINT + "\n".join(lines) + "\n}\n")
    program = build_library("rows", source, flags=("-Wno-invalid-offsetof",))
    printed = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    return {words[0]: words[1:] for words in map(str.split, printed.splitlines())}


def fields(dtype: np.dtype[Any]) -> dict[str, tuple[int, np.dtype[Any]]]:
    """Name -> offset and type."""
    assert dtype.fields is not None
    return {name: (field[1], field[0]) for name, field in dtype.fields.items()}


@pytest.mark.parametrize("struct", LAYOUTS)
def test_fields_lie_where_cpp_puts_them(said: dict[str, list[str]], struct: str) -> None:
    assert said[struct] == [str(LAYOUTS[struct].itemsize)]
    for name, (offset, field) in fields(LAYOUTS[struct]).items():
        assert said[f"{struct}.{name}"] == [str(offset), str(field.itemsize), field.base.kind.replace("V", "u")], name


@pytest.mark.parametrize("struct", LAYOUTS)
def test_fields_leave_no_gap(struct: str) -> None:
    assert sum(field.itemsize for _, field in fields(LAYOUTS[struct]).values()) == LAYOUTS[struct].itemsize


def test_numbers_mean_the_same(said: dict[str, list[str]]) -> None:
    assert {name: int(said[name][0]) for name in NUMBERS} == NUMBERS


def test_the_header_is_the_readers(said: dict[str, list[str]]) -> None:
    assert (said["rows_offset"], said["head"], said["closed"]) == (["24"], ["48"], [str(HEADER.size - 8)])
