"""The examples of docs/expect.md, run in order: what they say in comments is what is printed."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest
import tensorflow as tf

import tensorsleuth
from tensorsleuth.core.violation import Violation
from tensorsleuth.live.expect.expectation import ON_VIOLATION, Expectation

PAGE = (Path(__file__).parents[2] / "docs/expect.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.S)


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"tf": tf}
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", tensorsleuth.ExpectationWarning)
        for number, example in enumerate(BLOCKS):
            folder = tmp_path / str(number)
            folder.mkdir()
            (folder / "train.py").write_text(example)
            exec(compile(example, str(folder / "train.py"), "exec"), names)
    said = capfd.readouterr().out
    for promised in re.findall(r"print\([^\n]*\)  # (.*)", PAGE):
        assert promised.removesuffix(" …") in said
    first = re.search(r"```\n(images: .*?)```", PAGE, re.S)
    assert first is not None and first[1] in said.replace(f"{tmp_path}/0/", "")
    assert "rates: expected values of 0 or more, found 1 of 2: values from -2 to 1; first at [1] -2" in said
    assert [one.category for one in warned].count(tensorsleuth.ExpectationWarning) == 1


@pytest.mark.parametrize("argument", list(Expectation.__dataclass_fields__))
def test_argument_is_documented(argument: str) -> None:
    assert re.search(rf"^\| `{argument}` \|", PAGE, re.M)


@pytest.mark.parametrize("field", list(Violation.__dataclass_fields__))
def test_field_of_a_violation_is_documented(field: str) -> None:
    assert re.search(rf"^\|[^|]*`{field}`", PAGE, re.M)


@pytest.mark.parametrize("how", ON_VIOLATION)
def test_what_is_done_is_documented(how: str) -> None:
    assert f'- `"{how}"`:' in PAGE
