"""What `expect` says of arrays, and of what makes no sense; TensorFlow is not needed."""

from __future__ import annotations

import subprocess
import sys
import threading
import warnings
from collections import OrderedDict, namedtuple
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tensorsleuth
from tensorsleuth import ExpectationError, SleuthError, expect
from tensorsleuth.core.violation import Violation

if TYPE_CHECKING:
    from _typeshed import TraceFunction

VALUES = np.array([[0.5, 2.0, np.nan], [1.0, 1.0, -3.0]], np.float32)
HERE = __file__


def broken(x, **expected) -> Violation:
    with pytest.raises(ExpectationError) as caught:
        expect(x, **expected)
    assert caught.value.violation is not None
    return caught.value.violation


@pytest.mark.parametrize(
    ("expected", "sentence"),
    [
        ({"dtype": "float64"}, "expected float64, found float32"),
        ({"dtype": (np.int32, "float64")}, "expected int32 or float64, found float32"),
        ({"rank": 3}, "expected rank 3, found rank 2, shape [2, 3]"),
        ({"rank": (1, 3)}, "expected rank 1 or 3, found rank 2, shape [2, 3]"),
        ({"shape": (2, 4)}, "expected shape [2, 4], found [2, 3]"),
        ({"shape": (None, 3, 1)}, "expected shape [*, 3, 1], found [2, 3]"),
        ({"shape": (..., 4)}, "expected shape […, 4], found [2, 3]"),
        ({"max_elements": 5}, "expected at most 5 elements, found 6, shape [2, 3]"),
        ({"finite": True}, "expected finite values, found 1 of 6: 1 NaN; first at [0, 2] NaN"),
        (
            {"between": (0, 1)},
            "expected values between 0 and 1, found 3 of 6: values from -3 to 2, and 1 NaN; "
            "first at [0, 1] 2, [0, 2] NaN, [1, 2] -3",
        ),
        ({"between": (-3, None)}, "expected values of -3 or more, found 1 of 6: values from -3 to 2, and 1 NaN; first at [0, 2] NaN"),  # noqa: E501
        ({"one_of": (0.5, 1, 2)}, "expected one of 0.5, 1, 2, found 2 of 6: other values; first at [0, 2] NaN, [1, 2] -3"),  # noqa: E501
        (
            {"increasing": True},
            "expected values that increase, found 3 of 4: values that are not larger than the one before; "
            "first at [0, 2] NaN, [1, 1] 1, [1, 2] -3",
        ),
        ({"sums_to": -1}, "expected sums of -1, found 1 of 2: sums of -1; first at [0] NaN"),
        ({"sums_to": 1.5, "axis": 0}, "expected sums of 1.5 along axis 0, found 2 of 3: sums from 1.5 to 3; first at [1] 3, [2] NaN"),  # noqa: E501
        ({"that": np.isfinite}, "expected isfinite(x) to be True, found 1 of 6: False; first at [0, 2] NaN"),
        ({"that": lambda x: x.sum() > 0}, "expected the function `that` to be True, found False"),
    ],
)  # fmt: skip
def test_words_of_a_violation(expected, sentence) -> None:
    assert broken(VALUES, **expected, name="scores").sentence == f"scores: {sentence}"


def test_what_is_as_expected_is_handed_on_itself() -> None:
    assert expect(VALUES, rank=2, shape=(2, 3), dtype=np.float32, max_elements=6, that=lambda x: x.size == 6) is VALUES
    probabilities = np.array([[0.25, 0.75], [1.0, 0.0]])
    assert expect(probabilities, finite=True, between=(0, 1), sums_to=1) is probabilities
    steps = np.array([1, 2, 2, 5])
    assert expect(steps, increasing="or equal", one_of={1, 2, 5}) is steps


def test_the_message_names_the_line_and_its_text() -> None:
    with pytest.raises(ExpectationError) as caught:
        expect(VALUES, rank=1)
    violation = caught.value.violation
    assert violation is not None and violation.file == HERE and violation.code == "expect(VALUES, rank=1)"
    assert str(caught.value).splitlines() == [
        "VALUES: expected rank 1, found rank 2, shape [2, 3].",
        f"  {HERE}:{violation.line}",
        "    expect(VALUES, rank=1)",
    ]
    assert violation.function == "test_the_message_names_the_line_and_its_text"


def test_the_name_is_what_was_written() -> None:
    with pytest.raises(ExpectationError, match=r"VALUES \* 2: "):
        tensorsleuth.expect(
            VALUES * 2,
            finite=True,
        )


def test_every_leaf_of_a_structure_is_judged() -> None:
    Pair = namedtuple("Pair", "left right")
    good: dict[str, Any] = {"a": [VALUES[1], Pair(1.0, VALUES[1])], "b": None}
    assert expect(good, finite=True) is good
    with pytest.raises(ExpectationError, match=r"^good\['a'\]\[1\]\.right: expected rank 0"):
        expect(good["a"][1], rank=0)
    bad = OrderedDict(x=(1.0, [2.0, np.inf]))
    with pytest.raises(
        ExpectationError, match=r"^bad\['x'\]\[1\]\[1\]: expected finite values, found 1 of 1: 1 infinite; first at ∞"
    ):
        expect(bad, finite=True)


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        ({}, "needs a rule. Pass at least one of: dtype"),
        ({"dtype": "float33"}, r"dtype='float33'\): a dtype, its name"),
        ({"rank": -1}, r"rank=-1\): an integer of 0 or more"),
        ({"rank": True}, r"rank=True\): an integer"),
        ({"shape": 3}, r"shape=3\): a tuple of up to 16 sizes"),
        ({"shape": (..., 1, ...)}, "at most one"),
        ({"shape": (2.5,)}, "2.5 is not a size"),
        ({"finite": "yes"}, r"finite='yes'\): True"),
        ({"between": 3}, r"between=3\): two numbers, \(low, high\)"),
        ({"between": (1, 0)}, r"did you mean \(0, 1\)\?$"),
        ({"between": (0, float("nan"))}, "two numbers"),
        ({"one_of": "ab"}, "a collection of numbers or strings"),
        ({"one_of": ()}, "at least one number"),
        ({"one_of": (1, "a")}, "not both kinds"),
        ({"sums_to": "1"}, r"sums_to='1'\): a number"),
        ({"increasing": "maybe"}, "or equal"),
        ({"max_elements": 1.5}, "an integer of 0 or more"),
        ({"that": True}, "a function of the value"),
        ({"finite": True, "axis": None}, "axis=None"),
        ({"finite": True, "tolerance": -1}, "a number of 0 or more"),
        ({"finite": True, "name": 3}, "a string"),
        ({"finite": True, "on_violation": "ignore"}, "'raise', 'warn' or 'record'"),
    ],
)
def test_wrong_use_is_told_at_once(expected, said) -> None:
    with pytest.raises(SleuthError, match=said):
        expect(VALUES, **expected)


def test_what_cannot_be_judged_is_told() -> None:
    with pytest.raises(SleuthError, match=r"a builtins\.object cannot be checked\. Pass an array"):
        expect(object(), finite=True)  # type: ignore[call-overload, unused-ignore]
    with pytest.raises(SleuthError, match="values of dtype string cannot be checked"):
        expect(np.array(["a"]), finite=True)
    with pytest.raises(SleuthError, match="values of dtype float64 cannot be checked"):
        expect(np.zeros(2), one_of=("a", "b"))
    with pytest.raises(
        SleuthError, match=r"the function returned float64 of shape \[3\]. It must return True or False"
    ):
        expect(np.zeros(3), that=lambda x: x + 1)


def test_texts_are_one_of() -> None:
    words = np.array(["cat", "dog"])
    assert expect(words, one_of=("cat", "dog")) is words
    assert broken(words, one_of=("cat", "cow"), name="w").sentence.endswith(
        "found 1 of 2: other values; first at [1] 'dog'"
    )


def test_two_of_one_name_have_one_size() -> None:
    for size in (4, 4, 3):  # the last batch is smaller: the first place starts a new round
        expect(np.zeros((size, 2)), shape=("rows", None))
        expect(np.zeros(size), shape=("rows",))
    first = broken_rows()
    assert first.other is not None and first.other.startswith("test_expectation.py:")
    assert first.expected.startswith("rows = 3 as at test_expectation.py:") and first.found == "rows = 5, shape [5]"
    assert first.change is not None and "a name other than 'rows'" in first.change


def broken_rows() -> Violation:
    return broken(np.zeros(5), shape=("rows",))


def test_one_name_twice_in_a_shape() -> None:
    expect(np.zeros((3, 3)), shape=("side", "side"))
    assert broken(np.zeros((3, 4)), shape=("edge", "edge")).found == "edge = 3, shape [3, 4]"


def test_names_are_of_a_thread() -> None:
    expect(np.zeros(3), shape=("own",))
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(expect(np.zeros(4), shape=("own",))))
    thread.start()
    thread.join()
    assert len(found) == 1


def test_warns_once_a_place_and_counts() -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for _ in range(3):
            expect(VALUES, between=(0, None), name="counted", on_violation="warn")
    assert len(warned) == 1 and warned[0].filename == HERE
    assert str(warned[0].message).startswith("counted: expected values of 0 or more, found 2 of 6: values from -3 to 2")


def test_the_end_of_the_program_says_how_often() -> None:
    program = (
        "import numpy as np, tensorsleuth, sys\n"
        "for _ in range(1200): tensorsleuth.expect(np.ones(2), between=(0, 0.5), name='p', on_violation='warn')\n"
        "assert 'tensorflow' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.count("ExpectationWarning: p: expected values between 0 and 0.5, found 2 of 2: values of 1") == 1
    assert done.stderr.splitlines()[-1] == "tensorsleuth: <string>:2: p: not values between 0 and 0.5, 1,200 times."


def test_bounds_are_those_of_the_dtype() -> None:
    tenths = np.full(3, 0.1, np.float32)  # a little more than 0.1
    assert expect(tenths, between=(0.1, 0.1), one_of=(0.1,)) is tenths


def test_a_violation_comes_back_from_json() -> None:
    made = broken(VALUES, finite=True, name="x")
    again = Violation.from_json(made.to_json())
    assert again.sentence == made.sentence and again.positions == made.positions


def said_at_two_places(size: int) -> None:
    if size == 3:
        expect(np.zeros(size), shape=("once",))
    else:
        expect(np.zeros(size), shape=("once",))


def test_names_end_with_the_function_that_runs() -> None:
    """Also where a later call gets the memory of an earlier one and is further on in the same code."""
    with ThreadPoolExecutor(1) as pool:
        assert len(list(pool.map(said_at_two_places, [3, 4] * 50))) == 100


def test_a_tracer_that_begins_later_is_not_in_our_way() -> None:
    lines: list[int] = []

    def tracer(frame: FrameType, event: str, arg: object) -> TraceFunction | None:
        lines.append(frame.f_lineno)
        return tracer

    had = sys.gettrace()
    expect(np.zeros(2), shape=("traced",))
    sys.settrace(tracer)
    try:
        said_at_two_places(3)
        with pytest.raises(ExpectationError, match="once = 4"):  # of one outermost function: the test
            said_at_two_places(4)
    finally:
        sys.settrace(had)
    assert lines


def test_what_a_string_starts_one_after_the_other_has_names_of_its_own() -> None:
    """As a worker of pytest-xdist does it, which is `python -c …`."""
    failed: list[BaseException] = []

    def three() -> None:
        expect(np.zeros(3), shape=("lines",))

    def two() -> None:
        expect(np.zeros(2), shape=("lines",))

    def start(code: str) -> None:
        thread = threading.Thread(target=exec, args=(code, {"three": three, "two": two, "failed": failed}))
        thread.start()
        thread.join()

    start("three()\ntry:\n    two()\nexcept Exception as error:\n    failed.append(error)")
    assert not failed
