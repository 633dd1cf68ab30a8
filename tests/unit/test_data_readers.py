"""Every source that needs no TensorFlow gives the same rows, and every bad file a sentence."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorsleuth import Feature, Label, Schema, SleuthError
from tensorsleuth.data.check_data import check
from tensorsleuth.data.readers import open_source

pandas = pytest.importorskip("pandas")
RANDOM = np.random.default_rng(0)
SCHEMA = Schema(
    {
        "age": Feature("float64", between=(0, 120)),
        "city": Feature("string", one_of=("Oslo", "Rome")),
        "visits": Feature("int64", between=(0, 50)),
        "label": Label(classes=3),
    },
    duplicates=1.0,
)


def frame(rows: int = 40) -> Any:
    columns = {
        "age": RANDOM.integers(0, 90, rows).astype(float),
        "city": RANDOM.choice(["Oslo", "Rome"], rows),
        "visits": RANDOM.integers(0, 50, rows),
        "label": np.arange(rows) % 3,
    }
    return pandas.DataFrame(columns)


def arrays_of(data: Any) -> dict[str, np.ndarray]:
    return {name: data[name].to_numpy(dtype=object if name == "city" else None) for name in data.columns}


def write(data: Any, folder: Path, kind: str) -> Any:
    """The same data in every form."""
    path = folder / f"data.{kind}"
    if kind == "csv":
        data.to_csv(path, index=False)
    elif kind == "tsv":
        data.to_csv(path, index=False, sep="\t")
    elif kind == "parquet":
        data.to_parquet(path)
    elif kind == "npz":
        texts: Any = {"city": arrays_of(data)["city"].astype(str)}
        np.savez(path, **arrays_of(data) | texts)
    return {"frame": data, "arrays": arrays_of(data)}.get(kind, path)


KINDS = ["csv", "tsv", "parquet", "npz", "frame", "arrays"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_is_read_alike(kind: str, tmp_path: Path) -> None:
    data = frame()
    assert SCHEMA.check(write(data, tmp_path, kind)).violations == ()
    data.loc[7, "age"], data.loc[9, "city"], data.loc[11, "visits"], data.loc[12, "label"] = 130.0, "Olso", 60, 3
    report = SCHEMA.check(write(data, tmp_path, kind))
    assert {one.name: (one.rule, one.broken, one.positions) for one in report} == {
        "age": ("between", 1, ((7,),)),
        "city": ("one_of", 1, ((9,),)),
        "visits": ("between", 1, ((11,),)),
        "label": ("label", 1, ((12,),)),
    }
    assert report.rows == {"data": 40}


@pytest.mark.parametrize("kind", KINDS)
def test_missing_values_in_every_source(kind: str, tmp_path: Path) -> None:
    data = frame()
    data.loc[3, "age"], data.loc[5, "city"] = np.nan, None if kind != "npz" else ""
    if kind == "npz":
        data["city"] = data["city"].fillna("")
    report = SCHEMA.check(write(data, tmp_path, kind))
    assert {one.name: (one.rule, one.positions) for one in report} == {
        "age": ("finite", ((3,),)),
        "city": ("missing", ((5,),)),
    }


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame", "npz"])
def test_a_schema_of_a_file_accepts_it(kind: str, tmp_path: Path) -> None:
    source = write(frame(500), tmp_path, kind)
    schema = Schema.infer(source)
    assert schema.check(source).violations == ()
    assert isinstance(schema["label"], Label) and schema["label"].classes == 3
    assert schema["city"].one_of == ("Oslo", "Rome")


def test_whole_numbers_with_holes_stay_whole_numbers() -> None:
    data = pandas.DataFrame(
        {"n": pandas.array([1, None, 3], dtype="Int64"), "b": pandas.array([True, None, False], dtype="boolean")}
    )
    schema = Schema({"n": Feature("int64", missing=0.5), "b": Feature(missing=0.5)})
    assert schema.check(data).ok
    assert Schema({"n": Feature("int64"), "b": Feature(missing=1.0)}).check(data).errors[0].positions == ((1,),)


def test_text_between_numbers(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("n,m\n" + "".join(f"{i},{i}\n" for i in range(30)) + "none,30\nabc,31\n")
    with_schema = Schema({"n": Feature("float32"), "m": Feature("int64")}).check(tmp_path / "a.csv")
    told = with_schema.violations[0]
    assert (told.rule, told.expected, told.found, told.positions) == ("dtype", "numbers", "text", ((30,), (31,)))
    assert told.values == ("none", "abc")
    without = check(None, tmp_path / "a.csv")
    assert any(one.rule == "dtype" and one.name == "n" for one in without.errors)


def test_lists_in_parquet(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    even = arrow.array([[1.0, 2.0], [3.0, 4.0]], arrow.list_(arrow.float32(), 2))
    uneven = arrow.array([[1.0], [2.0, 30.0]], arrow.list_(arrow.float64()))
    parquet.write_table(arrow.table({"even": even, "uneven": uneven}), tmp_path / "lists.parquet")
    schema = Schema({"even": Feature("float32", shape=("batch", 2)), "uneven": Feature("float64", between=(0, 10))})
    (found,) = schema.check(tmp_path / "lists.parquet").violations
    assert found.name == "uneven" and found.positions == ((1, 1),) and found.values == (30.0,)


def test_a_compressed_file_is_read_a_stretch_at_a_time(tmp_path: Path) -> None:
    x = RANDOM.random((9000, 30, 10), dtype=np.float32)
    x[8765, 3, 2] = np.inf
    np.savez_compressed(tmp_path / "x.npz", x=x, n=np.arange(9000), scale=np.float32(3), f=np.asfortranarray(x[:50, 0]))
    sizes = [len(block.pieces["x"].array) for block in open_source(tmp_path / "x.npz").blocks()]
    assert len(sizes) > 2 and sum(sizes) == 9000
    found = next(one for one in check(None, tmp_path / "x.npz") if one.rule == "finite")
    assert found.positions == ((8765, 3, 2),)


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_lie_in_files_in_either_order(order: Any, tmp_path: Path) -> None:
    x = np.array(RANDOM.random((50, 6)), order=order)
    x[13, 4] = np.nan
    np.savez(tmp_path / "x.npz", x=x)
    np.save(tmp_path / "x.npy", x)
    for path in (tmp_path / "x.npz", tmp_path / "x.npy"):
        (found,) = check(None, path).violations
        assert found.positions == ((13, 4),)


def bad_files(folder: Path) -> dict[str, str]:
    """Files that cannot be read, and what is said of each."""
    np.savez(folder / "good.npz", x=np.arange(1000.0))
    np.savez_compressed(folder / "packed.npz", x=RANDOM.random(50_000))
    np.save(folder / "good.npy", np.arange(1000.0))
    whole = (folder / "good.npz").read_bytes()
    (folder / "cut.npz").write_bytes(whole[:500])
    packed = bytearray((folder / "packed.npz").read_bytes())
    packed[5000:5100] = bytes(100)
    (folder / "spoiled.npz").write_bytes(bytes(packed))
    (folder / "text.npz").write_text("hello, I am text")
    (folder / "renamed.npz").write_bytes((folder / "good.npy").read_bytes())
    (folder / "cut.npy").write_bytes((folder / "good.npy").read_bytes()[:800])
    (folder / "empty.csv").write_text("")
    (folder / "header.csv").write_text("a,b\n")
    (folder / "wide.csv").write_text("a,b\n1,2\n1,2,3\n")
    (folder / "quote.csv").write_text('a,b\n1,"2\n3,4\n')
    (folder / "latin.csv").write_bytes(b"a,b\n\xe9,2\n")
    (folder / "text.parquet").write_text("not parquet at all")
    (folder / "cut.parquet").write_bytes(b"PAR1" + bytes(50))
    (folder / "data.xyz").write_text("?")
    np.savez(folder / "objects.npz", x=np.array([{}, []], object))
    (folder / "folder.npz").mkdir()
    return {
        "cut.npz": r"is damaged or cut short \(.*\)\. Was it written or copied to the end",
        "spoiled.npz": r"is damaged or cut short",
        "text.npz": r"is not a \.npz file\. It begins with b'hello, I', not b'PK'",
        "renamed.npz": r"is not a \.npz file\. It begins as a \.npy file does: rename it",
        "cut.npy": r"is cut short\. Was it written",
        "empty.csv": r"is empty\. Was it written to the end\?",
        "header.csv": r"has no rows",
        "wide.csv": r"has 3 values in line 3, where 2 were expected\. Put quotes",
        "quote.csv": r"has a malformed line \(.*\)\. Is a quote left open\?",
        "latin.csv": r"is not UTF-8 text \(byte \d+\)",
        "text.parquet": r"is not a \.parquet file",
        "cut.parquet": r"cannot be read \(.*\)",
        "data.xyz": r"has a suffix that no reader knows \(\.xyz\)\. Known are .*\.csv",
        "objects.npz": r"holds Python objects in x\.npy, which may run code",
        "folder.npz": r"is a folder\. Name a file in it",
        "nothing.npz": r"is not there\. Is the path right\?",
    }


def test_bad_files_get_a_sentence(tmp_path: Path) -> None:
    for name, sentence in bad_files(tmp_path).items():
        with pytest.raises(SleuthError, match=rf"{name} {sentence}"):
            check(None, tmp_path / name)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(3))
    (tmp_path / "x.npy").chmod(0)
    with pytest.raises(SleuthError, match="may not be read by this user"):
        check(None, tmp_path / "x.npy")


def test_data_that_nothing_reads() -> None:
    with pytest.raises(SleuthError, match="cannot read data of type int: there is a reader for arrays"):
        check(None, 3)
    with pytest.raises(SleuthError, match="holds objects of type dict: numbers and text can be checked"):
        check(None, {"x": np.array([{}])})
    with pytest.raises(SleuthError, match="has no rows: there is nothing to check"):
        check(None, {"x": np.zeros((0, 3))})
    with pytest.raises(SleuthError, match="the data contains no array"):
        check(None, {})


@pytest.mark.parametrize(
    ("library", "name"), [("pandas", "a.csv"), ("pyarrow", "a.parquet"), ("tensorflow", "a.tfrecord")]
)
def test_a_library_that_is_not_there(library: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    (tmp_path / name).write_bytes(b"PAR1 and so on")
    for module in [one for one in sys.modules if one.partition(".")[0] == library]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(SleuthError, match=rf"needs {library}, which cannot be imported here"):
        check(None, tmp_path / name)
