"""Which integers a type holds: held against NumPy's own casts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorsleuth.core.dtypes import DTYPES
from tensorsleuth.diagnose.inputs.tokens.integer_range import SIGNIFICANT_BITS, cast_integers, last_exact_integer

NUMBER = {one.name: one.number for one in DTYPES.values()}
EXACT = {"float16": 2048, "bfloat16": 256, "float32": 2**24, "float8_e4m3fn": 16, "float8_e5m2": 8}
ENDS = {"int8": 127, "uint8": 255, "int16": 32767, "uint16": 65535, "int32": 2**31 - 1, "int64": 2**63 - 1}
IDS = np.concatenate([np.arange(0, 40_000, 7), 2 ** np.arange(1, 15) + 1, [255, 256, 257, 2047, 2048, 2049, 2050]])


@pytest.mark.parametrize(("name", "last"), [*EXACT.items(), *ENDS.items()])
def test_up_to_where_all_are_held(name: str, last: int) -> None:
    assert last_exact_integer(NUMBER[name]) == last


def test_texts_and_truth_values_hold_none() -> None:
    assert [last_exact_integer(NUMBER[name]) for name in ("string", "bool", "complex64", "resource")] == [None] * 4


@pytest.mark.parametrize("name", ["float16", "float32", "int8", "uint8", "int16", "uint16", "int32", "int64"])
def test_what_they_become_is_what_numpy_makes_of_them(name: str) -> None:
    expected: Any = IDS.astype(name).astype(np.int64)
    assert (cast_integers(NUMBER[name], IDS) == expected).all()


def test_what_bfloat16_makes_of_them() -> None:
    """It is the upper half of a float32, rounded to even."""
    bits = IDS.astype(np.float32).view(np.uint32)
    kept = (bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)
    assert (cast_integers(NUMBER["bfloat16"], IDS) == kept.view(np.float32).astype(np.int64)).all()


def test_every_float_is_known() -> None:
    assert set(SIGNIFICANT_BITS) == {one.name for one in DTYPES.values() if one.kind.value == "float"}
