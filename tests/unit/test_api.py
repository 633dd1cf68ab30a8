"""Recording where TensorFlow is missing or too old: one sentence, with a next step."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

import tensorsleuth


def test_tensorflow_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(tensorsleuth.SleuthError) as caught:
        tensorsleuth.record("unused")
    assert "TensorFlow cannot be imported" in str(caught.value) and "pip install tensorflow" in str(caught.value)


def test_tensorflow_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    old = ModuleType("tensorflow")
    old.__version__ = "2.14.1"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tensorflow", old)
    with pytest.raises(tensorsleuth.SleuthError, match=r"2\.14\.1 is too old: tensorsleuth needs 2\.15 or newer"):
        tensorsleuth.record("unused")


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ({"mode": "FULL"}, "There is no mode 'FULL'; choose one of NO_TENSOR"),
        ({"op_regex": "("}, "op_regex '\\(' is not a regular expression"),
        ({"tensor_dtypes": ["float31"]}, "tensor_dtypes has an unknown dtype 'float31'"),
        ({"tensor_dtypes": "float32"}, "it must be a list of dtypes, or a function"),
        ({"circular_buffer_size": "many"}, "circular_buffer_size is 'many'; it must be an integer"),
    ],
)
def test_wrong_settings_are_named(setting: dict[str, object], sentence: str) -> None:
    with pytest.raises(tensorsleuth.SleuthError, match=sentence):
        tensorsleuth.record("unused", **setting)  # type: ignore[arg-type]


def test_step_outside_of_a_recording_does_nothing() -> None:
    with tensorsleuth.step(3):
        pass


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'recrod'"):
        tensorsleuth.recrod  # noqa: B018
