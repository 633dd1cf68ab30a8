"""The language of conditions: what it means, that the native judge and Python agree, and what it refuses."""

from __future__ import annotations

import ctypes
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.thorough import examples

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.layout.rows import EventKind
from tensorsleuth.core.modes import Mode
from tensorsleuth.live.breakpoints.condition import Condition, parse_condition
from tensorsleuth.live.breakpoints.condition_words import KNOWN_WORDS, WORD_NUMBERS, WORDS, ConditionCode
from tensorsleuth.live.breakpoints.python_evaluator import TensorFacts, holds
from tensorsleuth.native import loader
from tensorsleuth.native.numpy_health import measure_health

FLOAT16, FLOAT32 = 19, 1


def facts(*values: float, shape: tuple[int, ...] | None = None, dtype: int = FLOAT32, **others: Any) -> TensorFacts:
    array = np.array(values, np.float32)
    return TensorFacts(
        measure_health(array, FLOAT32, Mode.FULL_NUMERICS), shape or array.shape, dtype, array.nbytes, 7, **others
    )


SOME = facts(3.0, -4.0, 0.0)
BAD = facts(math.nan, math.inf, -math.inf, 2.0)


@pytest.mark.parametrize(
    ("text", "of", "expected"),
    [
        ("nan > 0", BAD, True),
        ("nan > 0", SOME, False),
        ("bad", BAD, True),
        ("not bad", SOME, True),
        ("inf == 2 and pos_inf == 1 and neg_inf == 1", BAD, True),
        ("neg == 1 and zero == 1 and pos == 1", SOME, True),
        ("max > 1e4", BAD, True),  # an infinity is larger
        ("min < -1e4", BAD, True),
        ("max == 3 and min == -4 and abs_max == 4", SOME, True),
        ("4.999999 < norm < 5.000001", SOME, True),
        ("grad_norm > 4.9", SOME, True),
        ("norm > 100", SOME, False),
        ("mean < 0 and std > 2", SOME, True),
        ("size == 3 and rank == 1 and bytes == 12", SOME, True),
        ("shape[0] == 3", SOME, True),
        ("shape[-1] == 3", SOME, True),
        ("shape[1] == 3 or shape[1] != 3", SOME, False),  # there is no such dimension
        ("shape == (3,)", SOME, True),
        ("shape != (3, 1)", SOME, True),
        ("shape[0] == 0", facts(shape=(0, 4)), True),
        ("dtype == 'float32'", SOME, True),
        ("'float16' == dtype", SOME, False),
        ("dtype in ('float16', 'bfloat16')", facts(1.0, dtype=FLOAT16), True),
        ("dtype not in ['float16']", SOME, True),
        ("dtype != 'float16'", SOME, True),
        ("change > 0.5", facts(1.0, change=0.6), True),
        ("norm > 0 or norm <= 0", BAD, False),  # as NumPy has it: NaN
        ("change > 0.5", SOME, False),  # seen for the first time
        ("step >= 7 and not step > 7", SOME, True),
        ("iteration == 2", facts(1.0, iteration=2.0), True),
        ("1 < max <= 3", SOME, True),
        ("1 < max < 3", SOME, False),
        ("max - min > 6.5", SOME, True),
        ("zero / size > 0.3", SOME, True),
        ("max / zero > 0 or max / nan > 0", SOME, True),
        ("-min == 4 and +max == 3", SOME, True),
        ("2 * max == 6 and max + 1 == 4", SOME, True),
        ("nan > 0 or inf > 0 and max < 0", SOME, False),
    ],
)
def test_what_it_means(text: str, of: TensorFacts, expected: bool) -> None:
    assert holds(parse_condition(text), of) is expected


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        ("rank == 3", Mode.SHAPE),
        ("bad", Mode.CURT_HEALTH),
        ("nan > 0", Mode.CONCISE_HEALTH),
        ("max > 1 or nan > 0", Mode.FULL_HEALTH),
        ("norm > 1", Mode.FULL_NUMERICS),
        ("step > 3", Mode.NO_TENSOR),
    ],
)
def test_looks_no_closer_than_it_has_to(text: str, needs: Mode) -> None:
    assert parse_condition(text).needs is needs


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nann > 0", ["'nann'", "Did you mean 'nan'?", *KNOWN_WORDS]),
        ("grad_nrm > 1", ["Did you mean 'grad_norm'?"]),
        ("zzz", ["unknown word 'zzz'", "The words are bad, nan"]),
        ("dtype == 'flot16'", ["unknown dtype 'flot16'", "Did you mean 'float16'?"]),
        ("dtype == 3", ["names: 'float16'"]),
        ("dtype > 'float16'", ["==, != or in"]),
        ("dtype", ["dtype == 'float16'"]),
        ("shape", ["shape[0]"]),
        ("shape > (1,)", ["shape == (2, 3)"]),
        ("shape['a'] > 1", ["integer"]),
        ("max[0] > 1", ["only shape has an index"]),
        ("max in (1, 2)", ["only with dtype"]),
        ("~bad", ["`not`"]),
        ("max > ", ["not understood"]),
        ("", ["not a condition"]),
        ("'text'", ["only words, numbers"]),
        ("__import__('os').system('true')", ["not understood"]),
        ("max.__class__", ["not understood"]),
        ("[max for max in (1,)]", ["not understood"]),
        ("max ** 2 > 1", ["not understood"]),
        (f"max > {'9' * 400}", ["too large"]),
        (" and ".join(["max > 1"] * 200), ["too long"]),
        ("(" * 400 + "max" + ")" * 400, ["not understood"]),
    ],
)
def test_what_is_wrong_is_said(text: str, says: list[str]) -> None:
    with pytest.raises(SleuthError) as raised:
        parse_condition(text)
    assert all(part in str(raised.value) for part in says), raised.value


# ---- the native judge

WORD = st.sampled_from(sorted(WORDS.keys() - {"dtype", "change", "step", "iteration"}))
NUMBER = st.one_of(st.integers(-5, 20).map(float), st.floats(-1e6, 1e6, width=32)).map(lambda number: f"({number!r})")
TERM = st.recursive(
    st.one_of(WORD, NUMBER, st.integers(-3, 3).map(lambda at: f"shape[{at}]")),
    lambda inner: st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda parts: f"({' '.join(parts)})"),
    max_leaves=4,
)
COMPARED = st.one_of(
    st.tuples(TERM, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), TERM).map(" ".join),
    st.sampled_from(["dtype == 'float32'", "dtype in ('float16', 'int8')", "bad", "shape == (2, 2)", "step > 3"]),
)
CONDITION = st.recursive(
    COMPARED,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" and ", " or "]), inner).map(lambda parts: f"({''.join(parts)})"),
        inner.map(lambda one: f"(not {one})"),
    ),
    max_leaves=5,
)
VALUES = st.lists(st.floats(width=32, allow_subnormal=False), max_size=6)

ENTRIES = {
    "sleuth_break_set": (ctypes.c_int, [ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_int]),
    "sleuth_break_holds": (ctypes.c_int, [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]),
    "sleuth_set_step": (None, [ctypes.c_int64]),
}


@pytest.fixture(scope="module")
def native(recorder_path: Path) -> Any:
    library = ctypes.CDLL(str(recorder_path))
    for name, (result, arguments) in ENTRIES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def judge(native: Any, condition: Condition, of: TensorFacts) -> bool:
    flat = [float(part) for instruction in condition.code for part in instruction]
    code = (ctypes.c_double * len(flat))(*flat)
    assert native.sleuth_break_set(0, int(condition.needs), 0, code, len(condition.code)) == 1
    native.sleuth_set_step(of.step)
    view = loader.TensorView(None, of.health.elements, of.bytes, of.dtype, len(of.shape))
    view.dims[: len(of.shape)] = of.shape
    where, health = loader.RowPlace(1, 1, 0, 0, EventKind.EAGER), loader.NativeHealth(*of.health)
    return bool(native.sleuth_break_holds(0, ctypes.byref(view), ctypes.byref(where), ctypes.byref(health)))


@settings(max_examples=examples(300), deadline=None)
@given(text=CONDITION, values=VALUES, square=st.booleans())
def test_native_and_python_agree(native: Any, text: str, values: list[float], square: bool) -> None:
    of = facts(*values, shape=(2, 2) if square else None)
    condition = parse_condition(text)
    assert judge(native, condition, of) is holds(condition, of), text


@pytest.mark.parametrize("name", sorted(WORDS.keys() - {"change", "iteration"}))
def test_each_word_has_its_number(native: Any, name: str) -> None:
    """The two lists of words have to have one order."""
    for of in (SOME, BAD):
        value = of.word(name)
        above = (
            (ConditionCode.WORD, float(WORD_NUMBERS[name])),
            (ConditionCode.CONSTANT, value),
            (ConditionCode.GREATER, 0.0),
        )
        below = (above[0], (ConditionCode.CONSTANT, value - 1), above[2])
        assert not judge(native, Condition(name, above, Mode.SHAPE, frozenset()), of)
        finite = math.isfinite(value)
        assert judge(native, Condition(name, below, Mode.SHAPE, frozenset()), of) is finite, (name, value)
