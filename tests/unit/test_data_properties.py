"""What holds for any data: a schema accepts what it was inferred from, and damage is found where it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tests.thorough import examples

from tensorsleuth import Feature, Schema
from tensorsleuth.data.check_data import check
from tensorsleuth.data.schema_file import dumps, loads

DTYPES = ["float16", "float32", "float64", "int8", "int32", "int64", "uint8", "uint64", "bool", "<U4"]
COLUMNS = ["x", "label", "a/b", "height"]


@st.composite
def data_sets(draw: Any) -> dict[str, Any]:
    """A few columns of a few rows, of any type, with anything in them."""
    rows = draw(st.integers(1, 12))
    found = {}
    for name in draw(st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=4, unique=True)):
        shape = (rows, *draw(st.lists(st.integers(1, 3), max_size=2)))
        found[name] = draw(arrays.arrays(draw(st.sampled_from(DTYPES)), shape))
    return found


@given(data_sets())
@settings(max_examples=examples(150), deadline=None)
def test_a_schema_accepts_what_it_was_inferred_from(data: dict[str, Any]) -> None:
    schema = Schema.infer(data)
    assert schema.check(data).violations == ()
    assert loads(dumps(schema)) == schema, "and says the same from its file"


SHAPES = [(40,), (23, 5), (9, 4, 3, 2), (2000, 2)]


@given(
    st.sampled_from(SHAPES),
    st.sampled_from(["float32", "float64", "int16", "int64"]),
    st.sampled_from(["nan", "inf", "high", "low"]),
    st.randoms(use_true_random=False),
)
@settings(max_examples=examples(150), deadline=None)
def test_damage_to_one_element_is_found_where_it_is(shape: Any, dtype: str, damage: str, random: Any) -> None:
    array = np.random.default_rng(random.getrandbits(32)).integers(0, 100, shape).astype(dtype)
    if damage in ("nan", "inf") and array.dtype.kind != "f":
        damage = "high"
    place = tuple(random.randrange(size) for size in shape)
    array[place] = {"nan": np.nan, "inf": np.inf, "high": 101, "low": -1}[damage]
    schema = Schema({"x": Feature(between=(0, 100), constant=True, duplicate=True)}, duplicates=1.0)
    (violation,) = schema.check({"x": array}).violations
    assert violation.rule == ("finite" if damage in ("nan", "inf") else "between")
    assert violation.broken == 1 and violation.total == array.size and violation.positions == (place,)
    assert np.array_equal(violation.values[0], array[place], equal_nan=damage == "nan")


@pytest.mark.parametrize("pack", [np.savez, np.savez_compressed])
@given(shape=st.sampled_from([(700, 40, 50), (3, 1_000_000), (2_500_000,)]), random=st.randoms(use_true_random=False))
@settings(max_examples=examples(4), deadline=None, suppress_health_check=list(HealthCheck))
def test_and_in_files_of_many_blocks(pack: Any, shape: Any, random: Any, tmp_path: Path) -> None:
    array = np.zeros(shape, np.float32)
    place = tuple(random.randrange(size) for size in shape)
    array[place] = np.nan
    pack(tmp_path / "x.npz", x=array)
    found = next(one for one in check(None, tmp_path / "x.npz") if one.rule == "finite")
    assert found.broken == 1 and found.positions == (place,) and found.total == array.size
