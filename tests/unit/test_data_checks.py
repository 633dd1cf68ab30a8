"""Each check on data with one thing wrong: what is said, part by part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tensorsleuth import DataError, DataReport, Feature, Label, Schema
from tensorsleuth.core.violation import Violation
from tensorsleuth.data.check_data import check
from tensorsleuth.data.hash_sample import HashSample
from tensorsleuth.data.row_sample import RowSample
from tensorsleuth.native import row_health

RANDOM = np.random.default_rng(0)


def images(rows: int = 50) -> np.ndarray:
    return RANDOM.random((rows, 28, 28), dtype=np.float32)


def only(report: DataReport) -> Violation:
    assert len(report) == 1, report
    return report.violations[0]


def of_rule(report: DataReport, rule: str) -> Violation:
    return next(one for one in report if one.rule == rule)


@pytest.fixture(params=["native", "numpy"])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every check that counts must say the same without the library."""
    if request.param == "numpy":
        monkeypatch.setattr(row_health, "load", lambda: None)
    else:
        assert row_health.load() is not None


def test_nan_and_infinity(kernel: None) -> None:
    x = images()
    x[3, 4, 5], x[7, 0, 1], x[7, 0, 2] = np.nan, np.inf, -np.inf
    found = only(Schema({"x": Feature("float32")}).check({"x": x}))
    assert (found.rule, found.name, found.expected, found.found) == (
        "finite",
        "x",
        "finite values",
        "1 NaN and 2 infinite",
    )
    assert (found.broken, found.total) == (3, x.size)
    assert (
        found.positions == ((3, 4, 5), (7, 0, 1), (7, 0, 2))
        and found.first == "[3, 4, 5] NaN, [7, 0, 1] ∞, [7, 0, 2] −∞"
    )
    assert "missing = 0.1" in str(found.change)


def test_range(kernel: None) -> None:
    x = images()
    x[10] *= 255
    found = only(Schema({"x": Feature(between=(0, 1))}).check({"x": x}))
    assert (found.rule, found.expected) == ("between", "values between 0 and 1")
    assert found.broken == int((x > 1).sum()) and found.positions[0][0] == 10 and "to 25" in found.found
    assert found.change == "It looks like bytes that were not scaled: x / 255."


def test_a_bound_is_a_number_of_the_datas_type() -> None:
    assert Schema({"x": Feature(between=(0, 0.1))}).check({"x": np.array([0.0, 0.1], np.float32)}).ok
    big = np.array([2**53, 2**53 + 1], np.int64)  # the same number, as doubles
    found = of_rule(Schema({"x": Feature(between=(0, 2**53))}).check({"x": big}), "between")
    assert found.broken == 1 and found.positions == ((1,),) and found.values == (2**53 + 1,)


@pytest.mark.parametrize(
    ("declared", "array", "found", "change"),
    [
        ("float32", np.zeros(3, np.uint8), "uint8", "Cast and scale it: tf.cast(x, tf.float32) / 255."),
        ("float32", np.arange(3.0), "float64", "Convert it, x.astype('float32'), or change the schema."),
        ("int", np.arange(3.0), "float64", "Convert it, x.astype('int'), or change the schema."),
        ("float32", np.array(["1", "2"]), "string", "It is text: parse it first."),
        ("string", np.arange(3), "int64", "Convert it, x.astype('string'), or change the schema."),
    ],
)
def test_types(declared: str, array: np.ndarray, found: str, change: str) -> None:
    said = of_rule(Schema({"x": Feature(declared, constant=True)}).check({"x": array}), "dtype")
    assert (said.expected, said.found, said.change) == (f"dtype {declared}", found, change)


@pytest.mark.parametrize("declared", ["float32", "float", "number", None])
def test_types_that_fit(declared: str | None) -> None:
    assert Schema({"x": Feature(declared)}).check({"x": np.arange(3, dtype=np.float32)}).ok


@pytest.mark.parametrize(
    ("declared", "shape", "change"),
    [
        (("batch", 28, 28, 1), (5, 28, 28), "Add the last dimension: x[..., None]."),
        (("batch", 3, 8), (5, 8, 3), "The dimensions are in another order: transpose it."),
        (("batch", 9), (5, 8), "Reshape or resize it, or change the schema."),
        (("batch", 9, 3), (9, 3), "One dimension is missing: is this a single row, or images without channels?"),
    ],
)
def test_shapes(declared: Any, shape: tuple[int, ...], change: str) -> None:
    found = of_rule(Schema({"x": Feature(shape=declared)}).check({"x": RANDOM.random(shape)}), "shape")
    assert found.expected == f"shape [{', '.join(map(str, declared))}]" and found.found.startswith(str(list(shape)))
    assert found.change == change


def test_named_dimensions_agree() -> None:
    schema = Schema(
        {"x": Feature(shape=("batch", "width")), "y": Feature(shape=("batch",)), "w": Feature(shape=("width",))}
    )
    found = schema.check({"x": RANDOM.random((20, 4)), "y": RANDOM.random(19), "w": RANDOM.random(4)})
    assert (
        only(found).name == "y"
        and only(found).expected == "20 in dimension 'batch', as x has"
        and only(found).found == "19"
    )
    unsaid = of_rule(check(None, {"x": RANDOM.random((20, 4)), "y": np.arange(19) % 3}), "shape")
    assert "as x has" in unsaid.expected and unsaid.found == "19"


def test_categories() -> None:
    cities = np.array(["Oslo", "Rome"] * 10, object)
    cities[4] = "oslo "
    found = only(Schema({"city": Feature(one_of=("Oslo", "Rome"))}, duplicates=1.0).check({"city": cities}))
    assert (found.rule, found.expected, found.positions) == ("one_of", "one of 'Oslo', 'Rome'", ((4,),))
    assert found.change == "Is 'oslo ' meant to be 'Oslo'? Correct it, or add it to one_of."
    numbers = only(Schema({"n": Feature(one_of=(1, 2))}, duplicates=1.0).check({"n": np.array([1, 2, 3])}))
    assert numbers.broken == 1 and numbers.values == (3,)


def test_missing() -> None:
    names = np.array(["a", None, "", "b"] * 25, object)
    found = only(Schema({"name": Feature(missing=0.25)}, duplicates=1.0).check({"name": names}))
    assert (
        found.rule == "missing"
        and found.expected == "at most 0.25 of the values missing"
        and found.found == "50.00% missing"
    )
    assert found.broken == 50 and found.positions[:2] == ((1,), (2,))
    holes = np.where(np.arange(100) < 10, np.nan, RANDOM.random(100))
    assert Schema({"x": Feature(missing=0.1)}).check({"x": holes}).ok
    assert only(Schema({"x": Feature(missing=0.05)}, duplicates=1.0).check({"x": holes})).found == "10.00% missing"


def test_constant() -> None:
    same = only(check(None, {"a": np.full(50, 7.0), "b": RANDOM.random(50)}))
    assert (same.rule, same.name, same.found, same.severity) == ("constant", "a", "7 in each of 50 rows", "error")
    table = RANDOM.random((50, 4))
    table[:, 2] = 1
    column = only(check(None, {"x": table}))
    assert column.severity == "warning" and column.found == "1 of 4 columns constant (column 2)"
    assert Schema({"x": Feature(constant=True)}).check({"x": table}).violations == ()
    late = RANDOM.random((3_000_000,)) * 0
    late[-1] = 1  # changes in the last block
    assert [one.rule for one in check(None, {"a": late, "b": RANDOM.random(len(late))})] == []


def test_duplicate_columns() -> None:
    a, b = RANDOM.random(50), RANDOM.random(50)
    found = only(check(None, {"a": a, "b": b, "c": a}))
    assert found.severity == "warning" and found.name == "a" and found.found == "the same values as c in all 50 rows"
    y = RANDOM.integers(0, 3, 50)
    leak = of_rule(check(None, {"a": a, "leak": y.astype(float), "label": y}), "duplicate-column")
    assert leak.severity == "error" and leak.name == "label" and "The label is among the features" in str(leak.change)
    table = RANDOM.random((50, 4))
    table[:, 3] = table[:, 1]
    assert only(check(None, {"x": table})).found == "the same values as x[:, 3] in all 50 rows"


def test_duplicate_rows(kernel: None) -> None:
    x = images()
    x[20] = x[30] = x[19]
    found = only(check(None, {"x": x, "label": np.arange(50) % 5}))
    assert (found.rule, found.broken, found.total) == ("duplicate-row", 2, 50)
    assert found.first == "[20] = row 19, [30] = row 19" and found.found == "4.00% of the rows there before"
    assert Schema({"x": Feature()}, duplicates=0.04).check({"x": x}).ok
    assert only(Schema({"x": Feature()}, duplicates=0.03).check({"x": x})).severity == "error"


def test_rows_in_both_sets(kernel: None) -> None:
    train, validation = images(), images()
    validation[5] = train[31]
    report = Schema({"x": Feature()}).check({"x": train}, validation={"x": validation})
    found = only(report)
    assert (found.rule, found.where, found.broken, found.total) == ("overlap", "validation", 1, 50)
    assert found.first == "[5] = training row 31" and "Split before" in str(found.change)
    assert Schema({"x": Feature()}, overlap=0.02).check({"x": train}, {"x": validation}).ok


def test_labels() -> None:
    y = np.arange(60) % 4
    schema = Schema({"y": Label(classes=4, balance=0.5)}, duplicates=1.0)
    assert schema.check({"y": y}).violations == ()
    y[7] = 4
    found = only(schema.check({"y": y}))
    assert (found.rule, found.expected, found.positions) == ("label", "classes 0 to 3", ((7,),))
    from_one = only(schema.check({"y": np.arange(60) % 4 + 1}))  # and not: there is no row of class 0
    assert from_one.change == "They count from 1: subtract 1."
    gap = only(schema.check({"y": np.arange(60) % 3}))
    assert (gap.rule, gap.expected, gap.found) == (
        "label-gap",
        "rows of every class",
        "no row of class 3 (1 of 4 classes)",
    )
    rare = np.arange(60) % 4
    rare[rare == 3] = 2
    rare[0] = 3
    imbalance = only(schema.check({"y": rare}))
    assert imbalance.rule == "balance" and imbalance.found == "1 of class 3, 30 of class 2"


def test_one_hot_labels() -> None:
    y = np.eye(4, dtype=np.float32)[np.arange(40) % 4]
    schema = Schema({"y": Label(classes=4)}, duplicates=1.0)
    assert schema.check({"y": y}).violations == ()
    y[3] = 0.5
    assert only(schema.check({"y": y})).expected == "rows that add up to 1" and only(
        schema.check({"y": y})
    ).positions == ((3,),)


def test_labels_without_a_schema() -> None:
    x = RANDOM.random((60, 9))
    gap = only(check(None, {"x": x, "y": np.array([0, 1, 2, 4, 5] * 12)}))
    assert gap.rule == "label-gap" and "class 3 (1 of 6" in gap.found
    negative = only(check(None, {"x": x, "y": np.array([-1, 0, 1] * 20)}))
    assert negative.expected == "classes from 0" and negative.values[0] == -1


def test_images_that_were_not_scaled() -> None:
    found = only(check(None, {"x": images() * 255}))
    assert found.rule == "scale" and found.severity == "error" and "x / 255" in str(found.change)
    assert only(check(None, {"x": (images() * 255).astype(np.uint8)})).severity == "warning"
    assert Schema({"x": Feature(between=(0, 255))}).check({"x": images() * 255}).ok
    mixed = images()
    mixed[12] *= 255
    some = only(check(None, {"x": mixed}))
    assert some.expected == "images of one scale" and some.positions == ((12,),)


def test_images_that_are_not_centred() -> None:
    found = only(Schema({"x": Feature(centred=True)}).check({"x": images()}))
    assert (
        found.rule == "centred" and found.found.startswith("a mean of 0.") and "Subtract the mean" in str(found.change)
    )
    assert Schema({"x": Feature(centred=True)}).check({"x": images() - 0.5}).ok


def test_drift() -> None:
    before = {"a": RANDOM.normal(size=5000), "city": RANDOM.choice(["Oslo", "Rome"], 5000)}
    now = {"a": RANDOM.normal(1.0, size=5000), "city": RANDOM.choice(["Oslo", "Rome"], 5000, p=[0.8, 0.2])}
    schema = Schema({"a": Feature(), "city": Feature()}, duplicates=1.0)
    assert schema.check(before, against={name: values[::-1] for name, values in before.items()}).ok
    report = schema.check(now, against=before)
    a, city = report.violations
    assert (a.rule, a.name, a.where) == ("drift", "a", "against the other set") and "stability index" in a.found
    assert city.name == "city" and "'Oslo' in 8" in city.found.replace("7", "8") and "% before" in city.found
    few = {"a": RANDOM.normal(size=20), "city": np.array(["Oslo", "Rome"] * 10)}
    assert schema.check(few, against=before).ok, "so few rows may differ by chance"
    aside = schema.check(before, validation=now)
    assert aside.ok and [one.where for one in aside.warnings] == ["validation against training"] * 2


def test_what_is_there() -> None:
    report = Schema({"x": Feature(), "y": Label(), "z": Feature(optional=True)}).check({"x": images(), "w": images()})
    absent, strange = report.violations
    assert (
        absent.expected == "a feature y"
        and absent.found == "no y; there is x, w"
        and "optional = true" in str(absent.change)
    )
    assert strange.name == "w" and strange.severity == "warning"


def test_tuples_take_the_schemas_names_in_order() -> None:
    schema = Schema({"image": Feature(between=(0, 1)), "label": Label(classes=5)})
    assert schema.check((images(), np.arange(50) % 5)).violations == ()
    bad = only(schema.check(({"image": images() + 1}, np.arange(50) % 5)))
    assert bad.name == "image"


def test_a_report() -> None:
    x = images()
    x[1, 2, 3] = np.nan
    schema = Schema({"x": Feature("float32", shape=("batch", 28, 28))})
    report = schema.check({"x": x})
    with pytest.raises(DataError) as caught:
        report.raise_if_bad()
    assert caught.value.violations == report.errors and "first at [1, 2, 3] NaN" in str(caught.value)
    described = report.to_json()
    assert described["verdict"] == "problem" and described["violations"][0]["positions"] == [[1, 2, 3]]
    assert described["violations"][0]["values"] == ["NaN"] and described["read"][0]["rows"] == 50
    text = str(report)
    assert (
        "BROKEN" in text
        and "1 violation" in text
        and "[1, 2, 3] NaN" in text
        and all(len(line) <= 80 for line in text.splitlines())
    )
    assert "<pre" in report._repr_html_() and "finite" in report._repr_html_()
    assert schema.check({"x": images()}).raise_if_bad().ok and "OK" in str(schema.check({"x": images()}))


def test_hashes_in_bounded_memory() -> None:
    sample = HashSample(most=1000)
    unique = RANDOM.integers(0, 2**63, 20_000).astype(np.uint64)
    for start in range(0, 20_000, 500):
        sample.add(unique[start : start + 500], start)
    sample.add(unique[:10_000], 20_000)  # a third of the rows are there before
    hashes, places = sample.sorted_rows()
    assert len(hashes) <= 1000 and sample.one_in > 1 and sample.rows == 30_000
    assert 0.2 < np.count_nonzero(hashes[1:] == hashes[:-1]) / len(hashes) < 0.45
    assert all(unique[place if place < 20_000 else place - 20_000] == one for one, place in zip(hashes, places))


def test_a_sample_in_bounded_memory() -> None:
    sample = RowSample(most=100)
    for start in range(0, 10_000, 70):
        sample.add(np.arange(start, min(start + 70, 10_000)).reshape(-1, 1))
    rows = sample.rows[:, 0]
    assert 100 <= len(rows) <= 200 and set(np.diff(rows)) == {rows[1] - rows[0]} and rows[-1] > 9_800


@pytest.mark.parametrize("size", [0, 1, 7, 8, 47, 48, 49, 200])
def test_hashes_tell_rows_apart(size: int) -> None:
    rows = RANDOM.integers(0, 256, (300, size)).astype(np.uint8)
    changed = rows.copy()
    if size:
        changed[np.arange(300), RANDOM.integers(0, size, 300)] ^= np.uint8(1 << 3)
        assert not np.any(row_health.hash_rows(rows) == row_health.hash_rows(changed))
    assert np.array_equal(row_health.hash_rows(rows), row_health.hash_rows(rows.copy()))
    seeded = row_health.hash_rows(rows, np.arange(300, dtype=np.uint64))
    assert len(set(seeded.tolist())) == 300


def test_crc32c(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {b"": 0, b"123456789": 0xE3069283, bytes(32): 0x8A9136AA}
    assert {data: row_health.crc32c(data) for data in known} == known
    monkeypatch.setattr(row_health, "load", lambda: None)
    assert {data: row_health.crc32c(data) for data in known} == known


def test_labels_from_one_without_a_schema() -> None:
    x = RANDOM.random((60, 9))
    told = only(check(None, {"x": x, "labels": np.arange(60) % 10 + 1}))
    assert (told.rule, told.severity, told.expected) == ("label", "warning", "classes that count from 0")
    assert told.found == "classes 1 to 10, none 0"
    assert told.change == "Losses and metrics of 10 outputs take 0 to 9: subtract 1."
    assert check(None, {"x": x, "labels": np.arange(60) % 10}).violations == ()


def test_peaks_do_not_make_a_column_centred() -> None:
    """A mean that is small beside the deviation, of values that are never below 0."""
    column = RANDOM.random((400, 3), dtype=np.float32)
    column[::100] *= 300
    assert not Schema.infer({"x": column})["x"].centred
    assert Schema.infer({"x": RANDOM.normal(size=(4000, 3))})["x"].centred
