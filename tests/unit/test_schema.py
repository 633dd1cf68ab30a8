"""What a schema says, in Python and in its file."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorsleuth import Feature, Label, Schema, SleuthError
from tensorsleuth.data.schema_file import dumps, loads

names = st.text(min_size=1, max_size=12)
numbers = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False)
dimensions = st.integers(0, 500) | st.none() | st.text(max_size=5).filter(lambda name: name != "?")
common: dict[str, Any] = {
    "dtype": st.sampled_from([None, "float32", "int64", "string", "number"]),
    "shape": st.none() | st.lists(dimensions, max_size=4).map(tuple),
    "between": st.none() | st.tuples(numbers, numbers).map(lambda pair: tuple(sorted(pair))),
    "one_of": st.none() | st.lists(st.text(max_size=5) | numbers, min_size=1, max_size=4).map(tuple),
    "finite": st.booleans(),
    "missing": st.floats(0, 1),
    "constant": st.booleans(),
    "optional": st.booleans(),
}
features = st.builds(Feature, **common)
labels = st.builds(
    Label,
    **common,
    classes=st.none() | st.integers(1, 50) | st.lists(st.text(max_size=5), min_size=1, max_size=3).map(tuple),
    balance=st.none() | st.floats(0, 1),
)


def make(kind: Any, *given: Any, **said: Any) -> Any:
    """As a program without types would."""
    return kind(*given, **said)


@given(st.dictionaries(names, features | labels, min_size=1, max_size=4), st.none() | st.floats(0, 1), st.floats(0, 1))
def test_a_schema_comes_back_from_its_file(said: dict[str, Feature], duplicates: float | None, overlap: float) -> None:
    schema = Schema(said, duplicates=duplicates, overlap=overlap)
    assert loads(dumps(schema)) == schema


def test_it_is_saved_and_loaded(tmp_path: Path) -> None:
    schema = Schema({"x": Feature("float32", shape=("batch", None, 3), between=(0, None)), "y": Label(classes=3)})
    schema.save(tmp_path / "schema.toml")
    assert Schema.load(tmp_path / "schema.toml") == schema
    text = (tmp_path / "schema.toml").read_text()
    assert "[features.x]" in text and 'shape = ["batch", "?", 3]' in text and "between = [0, inf]" in text
    assert "[labels.y]" in text and "classes = 3  # how many, counted from 0, or which" in text


def test_it_reads_as_it_is_written() -> None:
    schema = Schema({"x": Feature("float32", between=(0, 1)), "y": Label(classes=10)}, duplicates=0.5)
    assert eval(repr(schema), {"Schema": Schema, "Feature": Feature, "Label": Label}) == schema
    assert list(schema) == ["x", "y"] and schema.labels == ["y"]
    assert Feature(between=(None, 1)).bounds == (-math.inf, 1)


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (lambda: Feature("float31"), r"dtype='float31' is not known\. Choose one of .*float32"),
        (lambda: make(Feature, shape=("batch", 2.5)), r"has 2\.5: a dimension is a number, a name, or None"),
        (lambda: Feature(between=(1, 0)), r"the first must not be greater than the second"),
        (lambda: make(Feature, between=3), r"must be the smallest and the largest value, such as \(0, 1\)"),
        (lambda: Feature(missing=2), r"missing=2 must be a share from 0 to 1"),
        (lambda: make(Feature, one_of="abc"), r"one_of='abc' must be a list of at least one value"),
        (lambda: Label(classes=0), r"classes=0: it must be the number of classes, 1 or more, or a list"),
        (lambda: Label(balance=-1), r"balance=-1 must be a share"),
        (lambda: Schema({}), r"a schema maps names to Feature or Label, such as Schema"),
        (lambda: make(Schema, {"x": "float32"}), r"got \{'x': 'float32'\}"),
        (lambda: Schema({"x": Feature()}, overlap=3), r"overlap=3 must be a share"),
    ],
)
def test_what_makes_no_sense_is_refused(made: Any, sentence: str) -> None:
    with pytest.raises(SleuthError, match=sentence):
        made()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x = [", r"the schema s\.toml is not TOML: .*Correct that line"),
        ("[features.x]\ndtyp = 'float32'", r"says 'dtyp' of x, which is unknown\. Known are dtype, shape"),
        ("[features.x]\ndtype = 'float31'", r"s\.toml, x: dtype='float31' is not known"),
        ("[features]\nx = 3", r"features must be tables, such as \[features\.x\]"),
        ("[feature.x]", r"says 'feature', which is not known: features, labels"),
        ("duplicates = 0.1", r"a schema maps names to Feature or Label"),
        ("duplicates = 7\n[features.x]", r"duplicates=7 must be a share"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(SleuthError, match=sentence):
        loads(text, "s.toml")


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    with pytest.raises(SleuthError, match=r"cannot read the schema .*none\.toml: .*Write one with: sleuth data infer"):
        Schema.load(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SleuthError, match=r"is not a text file \(byte 0 is not UTF-8\)"):
        Schema.load(tmp_path / "bytes.toml")
    with pytest.raises(SleuthError, match=r"cannot write the schema .*Choose another place"):
        Schema({"x": Feature()}).save(tmp_path / "no" / "schema.toml")
