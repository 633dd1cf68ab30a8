"""Data that TensorFlow and Keras hold, and `checked` in pipelines; the examples of docs/data.md."""

from __future__ import annotations

import gc
import pickle
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tensorsleuth
from tensorsleuth import Feature, Label, Schema, SleuthError
from tensorsleuth.data.pipeline.element import violations
from tensorsleuth.data.readers import open_source
from tensorsleuth.live.watch import log as logging
from tensorsleuth.native import loader
from tensorsleuth.recording.violations import actions

SCHEMA = Schema({"image": Feature("float32", shape=("batch", 8, 8), between=(0, 1)), "label": Label(classes=10)})
ROWS, NAN, WRONG = 100, (37, 2, 3), 61
BLOCKS = re.findall(r"```python\n(.*?)```", (Path(__file__).parents[2] / "docs/data.md").read_text(), re.S)


def arrays(damaged: bool = True) -> tuple[Any, Any]:
    x = np.random.default_rng(0).random((ROWS, 8, 8), dtype=np.float32)
    y = np.arange(ROWS) % 10
    if damaged:
        x[NAN], y[WRONG] = np.nan, 10
    return x, y


def slices(damaged: bool = True) -> Any:
    return tf.data.Dataset.from_tensor_slices(arrays(damaged))


def as_dict(image: Any, label: Any) -> dict[str, Any]:
    return {"label": label, "image": image}


SHAPES = {
    "rows": lambda data: data,
    "batches": lambda data: data.batch(10),
    "dicts": lambda data: data.map(as_dict).batch(10),
    "inner dicts": lambda data: data.map(lambda image, label: ({"image": image}, {"label": label})).batch(10),
}


@pytest.fixture(params=["native", "python"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With the op, and where there is no library."""
    if request.param == "python":
        monkeypatch.setattr(loader, "load", lambda: None)
    return str(request.param)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_data_set_is_checked(shape: str) -> None:
    assert SCHEMA.check(SHAPES[shape](slices(damaged=False))).violations == ()
    image, label = sorted(SCHEMA.check(SHAPES[shape](slices())).violations, key=lambda one: one.name)
    assert (image.rule, image.positions) == ("finite", (NAN,)) and (label.rule, label.positions) == (
        "label",
        ((WRONG,),),
    )
    inferred = Schema.infer(SHAPES[shape](slices()))
    assert inferred.check(SHAPES[shape](slices())).violations == ()


@pytest.mark.parametrize("shape", SHAPES)
def test_checked_changes_nothing(shape: str, way: str) -> None:
    bare = SHAPES[shape](slices(damaged=False))
    looked = bare.apply(tensorsleuth.checked(SCHEMA))
    assert looked.element_spec == bare.element_spec and int(looked.cardinality()) == int(bare.cardinality())
    for one, other in zip(bare, looked, strict=True):
        for left, right in zip(tf.nest.flatten(one), tf.nest.flatten(other)):
            assert np.array_equal(left.numpy(), right.numpy())


@pytest.mark.parametrize("shape", SHAPES)
def test_raise_names_the_element_and_the_place_in_it(shape: str, way: str) -> None:
    checked = tensorsleuth.checked(SCHEMA)
    seen = 0
    with pytest.raises(tensorsleuth.DataError) as caught:  # noqa: PT012 - how far it gets counts
        for _ in SHAPES[shape](slices()).apply(checked):
            seen += 1
    index, place = (37, "[2, 3]") if shape == "rows" else (3, "[7, 2, 3]")
    assert seen == index
    assert f"image (element {index}): expected finite values, found 1 of" in str(caught.value)
    assert f"first at {place} NaN" in str(caught.value) and "Fill or drop what is missing" in str(caught.value)
    bad = checked.bad[0]
    assert bad.index == index and bad.content is not None and np.isnan(bad.content["image"]).sum() == 1


def in_a_loop(data: Any) -> None:
    for _ in data:
        pass


def in_a_function(data: Any) -> None:
    @tf.function
    def run() -> Any:
        total = tf.zeros([])
        for x, _ in data:
            total += tf.reduce_sum(x)
        return total

    run()


def in_a_fit(data: Any) -> None:
    model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(10)])
    model.compile(optimizer="sgd", loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(data.prefetch(2), shuffle=False, verbose=0)


@pytest.mark.parametrize("run", [in_a_loop, in_a_function, in_a_fit])
def test_what_is_raised_is_ours(run: Callable[[Any], None], way: str) -> None:
    """Whoever draws from the pipeline, and whichever class is asked for."""
    with pytest.raises(tensorsleuth.DataError) as caught:
        run(slices().batch(10).apply(tensorsleuth.checked(SCHEMA)))
    error = caught.value
    assert isinstance(error, tensorsleuth.ExpectationError) and isinstance(error, tf.errors.InvalidArgumentError)
    assert error.violation is not None and error.violations == (error.violation,)
    assert (error.violation.rule, error.violation.where, error.violation.file) == ("finite", "element 3", __file__)
    assert str(error) == error.violation.message, "no node, no number, no name of an op"
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, tensorsleuth.DataError) and str(again) == str(error)
    assert [str(one) for one in again.violations] == [str(error.violation)]


def test_a_warning_that_is_an_error_comes_out_of_the_iterator(way: str) -> None:
    actions._warned.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error", tensorsleuth.ExpectationWarning)
        with pytest.raises(tensorsleuth.ExpectationWarning, match=r"image \(element 37\): expected finite values"):
            in_a_loop(slices().apply(tensorsleuth.checked(SCHEMA, on_violation="warn")))
    actions._warned.clear()


@pytest.mark.parametrize("shape", ["rows", "batches"])
def test_record_keeps_index_and_content(shape: str, way: str) -> None:
    checked = tensorsleuth.checked(SCHEMA, on_violation="record")
    assert sum(1 for _ in SHAPES[shape](slices()).apply(checked)) == (ROWS if shape == "rows" else 10)
    assert [bad.index for bad in checked.bad] == ([37, 61] if shape == "rows" else [3, 6])
    assert [one.rule for one in checked.violations] == ["finite", "label"] and checked.count == 2
    content = checked.bad[1].content
    assert content is not None and 10 in np.ravel(content["label"]) and "2 elements broke the schema" in repr(checked)


def test_warn_says_it_once_for_each_rule(way: str) -> None:
    actions._warned.clear()
    checked = tensorsleuth.checked(SCHEMA, on_violation="warn")
    data = slices().repeat(3).apply(checked)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert sum(1 for _ in data) == 3 * ROWS
    mine = [one for one in said if one.category is tensorsleuth.ExpectationWarning]
    assert len(mine) == 2 and "image (element 37)" in str(mine[0].message) and checked.count == 6
    assert mine[0].filename == __file__, "it names the line that asked for it"
    actions._warned.clear()  # else it is summed up when the program ends


def test_skip_leaves_out_and_keeps_the_order(way: str) -> None:
    checked = tensorsleuth.checked(SCHEMA, on_violation="skip")
    data = slices().apply(checked)
    assert data.element_spec == slices().element_spec
    kept = [int(label) for _, label in data]
    assert kept == [label for i, label in enumerate(arrays()[1].tolist()) if i not in (37, 61)]


def test_set_aside_writes_a_file(way: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.npz"
    data = slices().batch(10).apply(tensorsleuth.checked(SCHEMA, on_violation="set_aside", aside=file))
    assert sum(1 for _ in data) == 8
    with np.load(file) as aside:
        assert sorted(aside.files) == ["3/image", "3/label", "3/why.txt", "6/image", "6/label", "6/why.txt"]
        assert np.array_equal(aside["3/image"], arrays()[0][30:40], equal_nan=True)
        assert b"label (element 6): expected classes 0 to 9" in aside["6/why.txt"]


def test_what_is_kept_is_bounded(way: str, tmp_path: Path) -> None:
    checked = tensorsleuth.checked(Schema({"x": Feature(between=(0, 1))}), on_violation="record")
    for _ in tf.data.Dataset.range(500).map(lambda i: tf.cast(i, tf.float32) + 2.0).apply(checked):
        pass
    assert checked.count == 500 and len(checked.bad) == 100
    assert [bad.content is not None for bad in checked.bad] == [True] * 5 + [False] * 95


def test_types_shapes_and_names_in_a_pipeline(way: str) -> None:
    wrong = tf.data.Dataset.from_tensor_slices((np.zeros((4, 8, 8), np.uint8), np.arange(4)))
    checked = tensorsleuth.checked(SCHEMA, on_violation="record")
    assert sum(1 for _ in wrong.apply(checked)) == 4 and {one.rule for one in checked.violations} == {"dtype"}
    uneven = Schema({"a": Feature(shape=("batch", "width")), "b": Feature(shape=("batch", "width"))})
    pair = tf.data.Dataset.from_tensors((np.zeros((3, 4)), np.zeros((3, 5))))
    checked = tensorsleuth.checked(uneven, on_violation="record")
    assert sum(1 for _ in pair.apply(checked)) == 1
    assert checked.violations[0].expected == "4 in dimension 'width', as a has"


def test_endless_data_stay_endless(way: str) -> None:
    data = slices(damaged=False).repeat().apply(tensorsleuth.checked(SCHEMA))
    assert int(data.cardinality()) == tf.data.INFINITE_CARDINALITY


def test_ragged_sparse_and_text(way: str) -> None:
    ragged = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[1.0, 2.0], [3.0], [float("nan"), 5.0]])).batch(2)
    sparse = tf.data.Dataset.from_tensor_slices(tf.sparse.from_dense(np.array([[0, 2.0], [300.0, 0]]))).batch(2)
    schema = Schema({"x": Feature(between=(0, 100))})
    for data, index in ((ragged, 1), (sparse, 0)):
        checked = tensorsleuth.checked(schema, on_violation="record")
        looked = data.apply(checked)
        assert looked.element_spec == data.element_spec and sum(1 for _ in looked) == sum(1 for _ in data)
        assert [bad.index for bad in checked.bad] == [index]
        report = schema.check(data)
        assert len(report.errors) == 1 and ("is ragged" in str(report) or "is sparse" in str(report))
    assert schema.check(ragged).errors[0].positions == ((2, 0),) and schema.check(sparse).errors[0].positions == (
        (1, 0),
    )
    text = tf.data.Dataset.from_tensor_slices({"city": ["Oslo", "Olso", "Rome"]})
    checked = tensorsleuth.checked(Schema({"city": Feature("string", one_of=("Oslo", "Rome"))}), on_violation="skip")
    assert [element["city"].numpy() for element in text.apply(checked)] == [b"Oslo", b"Rome"]
    assert "meant to be 'Oslo'" in str(checked.violations[0].change)


def test_wrong_arguments() -> None:
    for arguments, sentence in (
        ((SCHEMA, "ignore"), "on_violation='ignore': choose one of raise, warn, record, skip, set_aside"),
        ((SCHEMA, "set_aside"), 'on_violation="set_aside" needs a file'),
        (({"x": Feature()},), "checked.. takes a Schema, not dict"),
    ):
        with pytest.raises(SleuthError, match=sentence):
            tensorsleuth.checked(*arguments)
    named = tf.data.Dataset.from_tensor_slices({"picture": arrays()[0], "label": arrays()[1]})
    with pytest.raises(SleuthError, match="the data set has no image, which the schema expects: it has picture, label"):
        named.apply(tensorsleuth.checked(SCHEMA))


def test_while_it_is_recorded(tmp_path: Path) -> None:
    with (
        tensorsleuth.record(tmp_path) as recording,
        pytest.raises(tensorsleuth.DataError, match="expected finite values"),
    ):
        for _ in slices().batch(10).apply(tensorsleuth.checked(SCHEMA)):
            pass
    assert recording.path is not None
    (violation,) = tensorsleuth.open(recording.path).violations
    assert violation.rule == "finite" and violation.where == "element 3" and violation.file == __file__
    assert violation.code is not None and "tensorsleuth.checked(SCHEMA)" in violation.code


def test_the_line_that_made_what_was_left_out_is_told(tmp_path: Path) -> None:
    def scaled(x: Any) -> Any:
        return (x - tf.reduce_min(x)) / (tf.reduce_max(x) - tf.reduce_min(x))

    rows = np.random.default_rng(0).random((20, 4), dtype=np.float32)
    rows[5] = 0.5
    schema = Schema({"x": Feature("float32", between=(0, 1))})
    with tensorsleuth.record(tmp_path) as recording:
        data = tf.data.Dataset.from_tensor_slices(rows).map(scaled)
        assert sum(1 for _ in data.apply(tensorsleuth.checked(schema, on_violation="skip"))) == 19
    assert recording.path is not None
    finding = tensorsleuth.diagnose(recording.path).findings[0]
    assert finding.cause == "violation" and "of x (element 5)" in finding.summary
    assert finding.function == "test_the_line_that_made_what_was_left_out_is_told"
    line = scaled.__code__.co_firstlineno + 1
    assert finding.chain[0] == f"RealDiv (test_data.py:{line})" and "x (test_data.py:" in finding.chain[1]
    assert f"the bad value was made by RealDiv at test_data.py:{line}" in str(finding.seen)


def test_keras_sequences() -> None:
    kinds = [tf.keras.utils.Sequence]
    kinds += [tf.keras.utils.PyDataset] if hasattr(tf.keras.utils, "PyDataset") else []
    for kind in kinds:

        class Batches(kind):  # type: ignore[misc, valid-type]
            def __len__(self) -> int:
                return 10

            def __getitem__(self, number: int) -> Any:
                x, y = arrays()
                return x[10 * number : 10 * number + 10], y[10 * number : 10 * number + 10]

        image, label = SCHEMA.check(Batches()).violations
        assert image.positions == (NAN,) and label.positions == ((WRONG,),)


def write_records(path: Path, damaged: bool = True, options: Any = None) -> None:
    x, y = arrays(damaged)
    with tf.io.TFRecordWriter(str(path), options) as writer:
        for image, label in zip(x, y):
            feature = {
                "image": tf.train.Feature(float_list=tf.train.FloatList(value=image.reshape(-1))),
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
                "name": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"Oslo"] if label else [])),
                "tags": tf.train.Feature(int64_list=tf.train.Int64List(value=range(label % 3))),
            }
            writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())


@pytest.mark.parametrize("packed", [None, "GZIP"])
def test_records(packed: str | None, tmp_path: Path) -> None:
    write_records(tmp_path / "a.tfrecord", options=packed)
    schema = Schema(
        {
            "image": Feature("float32", shape=("batch", 64), between=(0, 1)),
            "label": Label(classes=10),
            "name": Feature("string", missing=0.2, constant=True),
            "tags": Feature("int64", between=(0, 0)),
        }
    )
    found = {one.name: one for one in schema.check(tmp_path / "a.tfrecord")}
    assert set(found) == {"image", "label", "tags"}
    assert found["image"].positions == ((37, 2 * 8 + 3),) and found["label"].positions == ((WRONG,),)
    assert found["tags"].positions[0] == (2, 1), "the second value of row 2"


def test_damaged_records(tmp_path: Path) -> None:
    whole = tmp_path / "a.tfrecord"
    write_records(whole)
    data = bytearray(whole.read_bytes())
    first = 16 + int.from_bytes(data[:8], "little")
    cases = {
        "length": (first + 3, "the checksum of its length is wrong"),
        "body": (first + 40, "its checksum is wrong"),
    }
    for name, (at, sentence) in cases.items():
        spoiled = bytearray(data)
        spoiled[at] ^= 8
        (tmp_path / f"{name}.tfrecord").write_bytes(bytes(spoiled))
        with pytest.raises(SleuthError, match=rf"is damaged in record 1, byte {first}: {sentence}"):
            SCHEMA.check(tmp_path / f"{name}.tfrecord")
    (tmp_path / "cut.tfrecord").write_bytes(bytes(data[:-10]))
    with pytest.raises(SleuthError, match=r"is damaged in record 99, byte .*it is cut short: \d+ of \d+ bytes"):
        SCHEMA.check(tmp_path / "cut.tfrecord")
    with tf.io.TFRecordWriter(str(tmp_path / "text.tfrecord")) as writer:
        writer.write(b"\xff\xff\xff not an example")
    with pytest.raises(SleuthError, match=r"has no tf\.Example in record 0"):
        SCHEMA.check(tmp_path / "text.tfrecord")


def test_the_framing_is_tensorflows(tmp_path: Path) -> None:
    write_records(tmp_path / "a.tfrecord", damaged=False)
    assert sum(block.rows for block in open_source(tmp_path / "a.tfrecord").blocks()) == ROWS


@pytest.mark.filterwarnings("ignore::DeprecationWarning:random")
def test_the_examples_of_the_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    names: dict[str, object] = {}
    for number, example in enumerate(BLOCKS, 1):
        exec(compile(example, f"docs/data.md, example {number}", "exec"), names)
    said = capfd.readouterr().out
    for part in ("BROKEN", "x / 255", "They count from 1", "= training row", "stability index", "set aside: [12]"):
        assert part in said, part


def test_nothing_is_collected_in_a_thread_of_a_pipeline(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of another pipeline's iterator would wait for its threads, which may wait for this one."""
    from tensorsleuth.data.pipeline import graph

    collecting = []

    def spying(*given: Any) -> Any:
        collecting.append(gc.isenabled())
        return violations(*given)

    monkeypatch.setattr(graph, "violations", spying)
    checked = tensorsleuth.checked(SCHEMA, on_violation="record")
    assert sum(1 for _ in slices().batch(10).apply(checked)) == 10 and checked.count == 2
    assert collecting and not any(collecting) and gc.isenabled()


def test_nothing_is_collected_where_pipelines_expect_and_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for `expect` and `log` in a pipeline's functions."""
    collecting: list[bool] = []

    def spy(*_: Any) -> bool:
        collecting.append(gc.isenabled())
        return True

    def look(i: Any) -> Any:
        tensorsleuth.log("{i}", i=i)
        return tensorsleuth.expect(i, that=spy)

    monkeypatch.setattr(logging, "_say", spy)
    assert sum(1 for _ in tf.data.Dataset.range(5).map(look)) == 5
    assert len(collecting) == 10 and not any(collecting) and gc.isenabled()
