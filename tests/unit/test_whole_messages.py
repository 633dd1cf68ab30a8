"""What the checks say to wrong calls and broken data, word for word: what, where, seen and expected, the next step."""
# mypy: disable-error-code="arg-type, call-overload"
# ruff: noqa: E501 - sentences stay whole, as they are looked for

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorsleuth import Feature, Label, Schema, SleuthError, checked, expect, log, watch
from tensorsleuth.data.check_data import check
from tensorsleuth.data.readers.file_errors import import_needed
from tensorsleuth.data.readers.sequences import SequenceSource
from tensorsleuth.data.schema_file import loads

X = np.zeros([2, 3])
RANDOM = np.random.default_rng(0)
WIDE = RANDOM.random((60, 9))
IMAGES = RANDOM.random((20, 8, 8)).astype(np.float32)
BIG = RANDOM.random((20, 32, 32)).astype(np.float32)
TEXTS = np.array(["a"])


class NoBatches:
    def __len__(self) -> int:
        return 0


class Odd:
    shape = (2,)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise ValueError("it is odd")


def changed(**columns: Any) -> Any:
    """A table with one column, or row, in the place of another."""
    table = WIDE.copy()
    for place, value in columns.items():
        axis, number = place[:3], int(place[4:])
        if axis == "col":
            table[:, number] = value
        else:
            table[number] = value
    return table


def scheme(**features: Any) -> Schema:
    return Schema({name: Feature(**said) for name, said in features.items()})


CALLS: list[tuple[Callable[[], Any], str]] = [
    # expect
    (
        lambda: expect(object(), finite=True),
        "expect(): a builtins.object cannot be checked. Pass an array, a number, a tensor, or a list, tuple or dict of these.",
    ),
    (
        lambda: expect(X),
        "expect() needs a rule. Pass at least one of: dtype, rank, shape, max_elements, finite, between, one_of, increasing, sums_to, that.",
    ),
    (
        lambda: expect(X, shape=(2.5, 3)),
        "expect(shape=(2.5, 3)): 2.5 is not a size: an integer, a name, None for any size, or ... for any dimensions.",
    ),
    (
        lambda: expect(X, rank=-1),
        "expect(rank=-1): an integer of 0 or more, or up to 8 of them, such as rank=2 or rank=(3, 4).",
    ),
    (
        lambda: expect(X, shape=(..., ...)),
        "expect(shape=(Ellipsis, Ellipsis)): a tuple of up to 16 sizes, such as shape=('batch', 128), with at most one ....",
    ),
    (lambda: expect(X, finite="yes"), "expect(finite='yes'): True, or leave it out."),
    (lambda: expect(X, between=3), "expect(between=3): two numbers, (low, high); None for no bound."),
    (lambda: expect(X, between=(1, 0)), "expect(between=(1, 0)): no value is between them; did you mean (0, 1)?"),
    (
        lambda: expect(X, one_of=5),
        "expect(one_of=5): a collection of numbers or strings, such as one_of=(0, 1) or one_of=range(10).",
    ),
    (lambda: expect(X, one_of=()), "expect(one_of=()): at least one number, or at least one string; not both kinds."),
    (lambda: expect(X, one_of=(1, None)), "expect(one_of=(1, None)): None is neither a number nor a string."),
    (
        lambda: expect(X, increasing="yes"),
        "expect(increasing='yes'): True, or 'or equal' to allow equal neighbours.",
    ),
    (
        lambda: expect(X, that=5),
        "expect(that=5): a function of the value that returns True or False, for all of it or for each element.",
    ),
    (
        lambda: expect(X, sums_to=1, axis=0.5),
        "expect(axis=0.5): an integer: the axis of sums_to or increasing.",
    ),
    (
        lambda: expect(X, dtype="float33"),
        "expect(dtype='float33'): a dtype, its name, or several of them, such as dtype='float32'.",
    ),
    (
        lambda: expect(TEXTS, between=(0, 1)),
        "expect(between=…): values of dtype string cannot be checked by that rule. Use dtype, rank, shape, one_of, that.",
    ),
    (
        lambda: expect(X, that=lambda x: x),
        "expect(that=…): the function returned float64 of shape [2, 3]. It must return True or False, for all of the value or for each element.",
    ),
    (lambda: Feature(shape=(2.5,)), "shape=(2.5,) has 2.5: a dimension is a number, a name, or None for any size."),
    (lambda: Feature(one_of=5), "one_of=5 must be a list of at least one value."),
    (lambda: Label(classes=0), "classes=0: it must be the number of classes, 1 or more, or a list of them."),
    (lambda: checked({"x": Feature()}), "checked() takes a Schema, not dict: Schema.load(path) reads one from a file."),
    (
        lambda: checked(scheme(x={}), "set_aside"),
        'on_violation="set_aside" needs a file, and only that: aside="bad.npz".',
    ),
    (
        lambda: checked(scheme(x={}), "set_aside", "no-such-folder/bad.npz"),
        "cannot write no-such-folder/bad.npz: No such file or directory. Name another file: aside=…",
    ),
    (lambda: Schema.infer({"x": np.zeros([0, 3])}), "the data has no rows: nothing can be inferred from it."),
    (lambda: check(None, {}), "the data contains no array. Pass arrays, or a dict of them."),
    (
        lambda: check(None, {"x": Odd()}),
        "x cannot be made an array: it is odd. Ragged data can be given as a tf.data.Dataset.",
    ),
    (
        lambda: loads("rows = 3"),
        "the schema schema says 'rows', which is not known: features, labels, duplicates, overlap.",
    ),
    (
        lambda: scheme(x={"between": (0, 1)}).check({"x": X + 300}).raise_if_bad(),
        "the data breaks its schema:\n  x: expected values between 0 and 1, found 6 of 6: values of 300; first at [0, 0] 300, [0, 1] 300, [0, 2] 300, …. Find out where these come from. Clip or drop them, or change the schema.\n  x: expected values that differ, found 300 in each of 2 rows. Leave it out, or say constant = true.",
    ),
    (
        lambda: SequenceSource(NoBatches()),
        "NoBatches has no batches: its len() is 0.",
    ),
    (lambda: watch(X, name=5), "watch(name=5): a name is a string, such as name='logits'."),
    (lambda: watch("a", every=0), "every is 0; it must be a number of steps, from 1 on."),
    (
        lambda: watch("a", what=5),
        "what is 5; it must be one or more of scalar, norm, histogram, quantiles, image, text, value.",
    ),
    (
        lambda: watch("a", what="norms"),
        "what has no 'norms'. Did you mean 'norm'? It must be one or more of scalar, norm, histogram, quantiles, image, text, value.",
    ),
    (lambda: log(5), "log(5): the message must be a string; write log('{x}', x=x) for a tensor."),
    (
        lambda: log("{x"),
        "log('{x') is not a format string: expected '}' before end of string. Write {{ for a brace.",
    ),
    (lambda: log("{x} {y}", x=1), "log('{x} {y}') has the field 'y', but the values given are: x."),
    (
        lambda: Schema.load("no-such-schema.toml"),
        "cannot read the schema no-such-schema.toml: No such file or directory. Write one with: sleuth data infer SAMPLE -o schema.toml",
    ),
    (
        lambda: check(None, {"x": np.array([[1], [2, 3]], object)}),
        "x holds objects of type list: numbers and text can be checked.",
    ),
    (
        lambda: import_needed("nosuchlibrary", "reading it"),
        "reading it needs nosuchlibrary, which cannot be imported here (No module named 'nosuchlibrary'). pip install 'tensorsleuth[data]'.",
    ),
]

DATA: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: scheme(x={"centred": True}).check({"x": WIDE}),
        "x: expected a mean near 0, found a mean of 0.530059 with a deviation of 0.288818. Subtract the mean of the training data from training and validation data alike.",
    ),
    (
        lambda: scheme(x={}).check({"x": np.ones(9)}),
        "x: expected values that differ, found 1 in each of 9 rows. Leave it out, or say constant = true.",
    ),
    (
        lambda: scheme(x={}).check({"x": np.ones(9)}),
        "x: expected rows that differ, found 8 of 9: 88.89% of the rows there before; first at [1] = row 0, [2] = row 0, [3] = row 0, …. Drop them, or allow a share of duplicates (duplicates = 0.1).",
    ),
    (
        lambda: scheme(x={}).check({"x": changed(col_4=1)}),
        "x: expected columns that differ, found 1 of 9 columns constant (column 4). Leave it out, or say constant = true.",
    ),
    (
        lambda: scheme(x={}).check({"x": changed(col_4=WIDE[:, 2])}),
        "x[:, 2]: expected columns that differ, found the same values as x[:, 4] in all 60 rows. Leave all but one out, or say duplicate = true.",
    ),
    (
        lambda: check(None, {"x": WIDE, "y": np.arange(60) % 2, "z": np.arange(60) % 2}),
        "y: expected a label that is not a feature, found the same values as z in all 60 rows. The label is among the features, so the model need not learn anything. Remove it.",
    ),
    (
        lambda: Schema({"x": Feature("string")}).check(
            {"x": np.tile(["a", "b"], 500)}, against={"x": np.tile(["a", "b", "b", "b"], 500)}
        ),
        "x (against the other set): expected the same shares of values, found 'a' in 50.0% of the rows, 25.0% before. Do both come from the same place, and through the same steps? Split at random, or train on newer data.",
    ),
    (
        lambda: Schema({"x": Feature("string")}).check(
            {"x": np.tile(["a", "b"], 500)}, against={"x": np.tile(["a", "b", "b", "b"], 500)}
        ),
        "x: expected rows that differ, found 998 of 1,000: 99.80% of the rows there before; first at [2] = row 0, [3] = row 1, [4] = row 0, …. Drop them, or allow a share of duplicates (duplicates = 0.1).",
    ),
    (
        lambda: scheme(x={}).check({"x": changed(row_1=WIDE[0])}),
        "x: expected rows that differ, found 1 of 60: 1.67% of the rows there before; first at [1] = row 0. Drop them, or allow a share of duplicates (duplicates = 0.1).",
    ),
    (
        lambda: check(None, {"x": (IMAGES * 255).astype(np.uint8)}),
        "x: expected images that are scaled, found bytes, 0 … 254. Before they go into a model: tf.cast(x, tf.float32) / 255.",
    ),
    (
        lambda: check(None, {"x": IMAGES * 255}),
        "x: expected images that are scaled, found values of 0.0484504 … 254.507. Scale them: x / 255; or declare what is meant: between = [0, 255].",
    ),
    (
        lambda: Schema({"y": Label(classes=2)}).check({"y": np.array([[1.0, 0], [0, 1], [0.5, 0.2]])}),
        "y: expected rows that add up to 1, found 1 of 3: other sums; first at [2] 0.7. Is each row one-hot, or a distribution?",
    ),
    (
        lambda: scheme(x={}).check({"x": WIDE}, validation={"x": WIDE[:1]}),
        "x (validation): expected rows that are not in the training data, found 1 of 1: 100.00% of the rows in it; first at [0] = training row 0. Split before rows are repeated or augmented, and drop these from one of the two.",
    ),
    (
        lambda: scheme(x={}).check({"x": WIDE, "q": WIDE[:, 0]}),
        "q: expected features of the schema, found a feature that the schema lacks. It is not checked: add it to the schema, or leave it out of the data.",
    ),
    (
        lambda: Schema({"y": Label(classes=4)}).check({"y": np.arange(60) % 4 + 1}),
        "y: expected classes 0 to 3, found 15 of 60: others, such as 4; first at [3] 4, [7] 4, [11] 4, …. They count from 1: subtract 1.",
    ),
    (
        lambda: Schema({"y": Label(classes=4)}).check({"y": np.arange(60) % 4 + 1}),
        "y: expected rows that differ, found 56 of 60: 93.33% of the rows there before; first at [4] = row 0, [5] = row 1, [6] = row 2, …. Drop them, or allow a share of duplicates (duplicates = 0.1).",
    ),
    (
        lambda: Schema({"y": Label(classes=4)}).check({"y": np.arange(60) % 3}),
        "y: expected rows of every class, found no row of class 3 (1 of 4 classes). Was the data cut or filtered? A class that is never seen is never learned.",
    ),
    (
        lambda: Schema({"y": Label(classes=4)}).check({"y": np.arange(60) % 3}),
        "y: expected rows that differ, found 57 of 60: 95.00% of the rows there before; first at [3] = row 0, [4] = row 1, [5] = row 2, …. Drop them, or allow a share of duplicates (duplicates = 0.1).",
    ),
    (
        lambda: scheme(x={"between": (0, 1)}).check({"x": WIDE * 200}),
        "x: expected values between 0 and 1, found 537 of 540: values from 0.060138 to 199.9; first at [0, 0] 127.392, [0, 1] 53.9573, [0, 2] 8.1947, …. It looks like bytes that were not scaled: x / 255.",
    ),
    (
        lambda: scheme(x={}).check({"x": changed(col_4=np.nan)}),
        "x: expected finite values, found 60 of 540: 60 NaN; first at [0, 4] NaN, [1, 4] NaN, [2, 4] NaN, …. Fill or drop what is missing, or say how much may be missing (missing = 0.1).",
    ),
    (
        lambda: scheme(x={"dtype": "int64"}).check({"x": WIDE}),
        "x: expected dtype int64, found float64. Convert it, x.astype('int64'), or change the schema.",
    ),
    (
        lambda: scheme(x={"shape": ("rows", 3)}).check({"x": WIDE}),
        "x: expected shape [rows, 3], found [60, 9]. Reshape or resize it, or change the schema.",
    ),
    (
        lambda: scheme(x={}, q={}).check({"x": WIDE}),
        "q: expected a feature q, found no q; there is x. Rename it in the data or in the schema, or say optional = true.",
    ),
    (
        lambda: scheme(x={}).check({"x": WIDE + 3}, against={"x": WIDE}),
        "x[:, 0] (against the other set): expected the same distribution (index of 0.25 at most), found median 3.57451, 0.57451 before (stability index 3.98, distance 1.00). Do both come from the same place, and through the same steps? Split at random, or train on newer data.",
    ),
    (
        lambda: scheme(x={}).check({"x": WIDE + 3}, against={"x": WIDE}),
        "x[:, 1] (against the other set): expected the same distribution (index of 0.25 at most), found median 3.57798, 0.577978 before (stability index 3.98, distance 1.00). Do both come from the same place, and through the same steps? Split at random, or train on newer data.",
    ),
    (
        lambda: scheme(x={}).check({"x": WIDE + 3}, against={"x": WIDE}),
        "x[:, 2] (against the other set): expected the same distribution (index of 0.25 at most), found median 3.49272, 0.492715 before (stability index 3.98, distance 1.00). Do both come from the same place, and through the same steps? Split at random, or train on newer data.",
    ),
    (
        lambda: scheme(x={"missing": 0.5}).check({"x": changed(col_4=np.inf)}),
        "x: expected finite values, found 60 of 540: 60 infinite; first at [0, 4] ∞, [1, 4] ∞, [2, 4] ∞, …. Look for a division by 0 or an overflow before, or clip it.",
    ),
    (
        lambda: check(None, {"x": np.concatenate([IMAGES[:10], IMAGES[10:] * 255])}),
        "x: expected images that are scaled, found values of 0.000190002 … 254.507. Scale them: x / 255; or declare what is meant: between = [0, 255].",
    ),
    (
        lambda: Schema({"y": Label(classes=4)}).check({"y": np.arange(60) % 6}),
        "y: expected classes 0 to 3, found 20 of 60: others, such as 4, 5; first at [4] 4, [5] 5, [10] 4, …. Correct the labels, or change classes in the schema.",
    ),
    (
        lambda: Schema({"y": Label(classes=2, balance=0.9)}).check({"y": np.repeat([0, 1], [40, 20])}),
        "y: expected the rarest class to have 0.9 of the most frequent one or more, found 20 of class 1, 40 of class 0. Weight the classes (class_weight), or gather more of the rare one.",
    ),
    (
        lambda: scheme(x={}).check({"x": np.array(["a", ""] * 30, object)}),
        "x: expected no value missing, found 30 of 60: 50.00% missing; first at [1] '', [3] '', [5] '', …. Fill or drop them, or allow a share of them (missing = 0.1).",
    ),
    (
        lambda: check(None, {"x": WIDE, "y": np.arange(50) % 2}),
        "y: expected 60 in dimension 'rows', as x has, found 50. Rows are matched by their index: find out which are missing.",
    ),
    (
        lambda: check(None, {"x": np.array(["1.5"] * 59 + ["n/a"], object)}),
        "x: expected numbers, found 1 of 60: text; first at [59] 'n/a'. Put a number there, or leave it empty.",
    ),
    (
        lambda: Schema({"x": Feature()}, duplicates=0.01).check({"x": changed(row_1=WIDE[0])}),
        "x: expected at most 0.01 of the rows to be duplicates, found 1 of 60: 1.67% of the rows there before; first at [1] = row 0. Drop them, or allow a share of duplicates (duplicates = 0.1).",
    ),
    (
        lambda: check(None, {"x": np.concatenate([BIG[:10], BIG[10:] * 255])}),
        "x: expected images of one scale, found some rows up to 1 and some up to 254.992; first at [10] 254.748, [11] 254.728, [12] 254.398, …. Scale all rows alike: x / 255 for these.",
    ),
    (
        lambda: scheme(x={"finite": False}).check({"x": changed(col_4=np.nan)}),
        "x: expected no NaN, found 60 of 540: 60 NaN; first at [0, 4] NaN, [1, 4] NaN, [2, 4] NaN, …. Fill or drop what is missing, or say how much may be missing (missing = 0.1).",
    ),
]


def test_a_file_with_objects_is_not_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=np.array([{}], object))
    with pytest.raises(SleuthError) as caught:
        check(None, tmp_path / "x.npz")
    said = f"{tmp_path}/x.npz holds Python objects in x.npy, which may run code when they are read. "
    assert str(caught.value) == said + "Save numbers or text (not dtype=object)."


@pytest.mark.parametrize(("call", "message"), CALLS, ids=[message[:40] for _, message in CALLS])
def test_a_wrong_call_is_told(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the message is compared
        call()
    assert str(caught.value) == message


@pytest.mark.parametrize(("look", "message"), DATA, ids=[message[:40] for _, message in DATA])
def test_what_is_wrong_with_data_is_told(look: Callable[[], Any], message: str) -> None:
    assert message in [str(violation) for violation in look()]
