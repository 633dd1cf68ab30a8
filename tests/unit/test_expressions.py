"""The expressions that a finding marks: found in the text of a file, and drawn under its line."""

from __future__ import annotations

import io
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console
from tests.unit.test_verdict_shown import finding

from tensorsleuth.core.catalog import Catalogue, Frame, Span
from tensorsleuth.core.finding import Diagnosis, OtherLine
from tensorsleuth.diagnose.expressions import Expressions, marked
from tensorsleuth.diagnose.source_lines import source_fields
from tensorsleuth.ui.terminal.verdict import Underline, verdict

SOURCE = """import tensorflow as tf
é = tf.math.log(x) / y
z = tf.exp(a) + tf.exp(b)
model.compile(
    "sgd", metrics=["é"], loss="mse",
)
out = model(x)
"""


def process(text: str) -> Any:
    kept: dict[Any, Any] = {}
    made = SimpleNamespace(catalogue=Catalogue(sources={"a.py": text}))
    made.cached = lambda make: kept.setdefault(make, make(made))
    return cast(Any, made)


def text_of(text: str, line: int, op: str, cause: str = "origin", span: Span | None = None) -> str | None:
    """The expression that is marked in a line."""
    recorded = process(text)
    frame = marked(recorded, Frame("a.py", line, "f", span), cause, op)
    fields = source_fields(recorded, frame)
    return text.splitlines()[(frame.line if frame else 1) - 1][slice(*fields["columns"])] if fields["columns"] else None


@pytest.mark.parametrize(
    ("line", "op", "expected"),
    [(2, "Log", "tf.math.log(x)"), (2, "RealDiv", "tf.math.log(x) / y"), (2, "Mul", None), (3, "Exp", None)],
)
def test_the_only_expression_that_can_have_called_an_op(line: int, op: str, expected: str | None) -> None:
    assert text_of(SOURCE, line, op) == expected


def test_an_argument_on_another_line_than_its_call() -> None:
    span = Span(4, 0, 6, 1)
    assert text_of(SOURCE, 4, "Log", "logits-as-probabilities", span) == 'loss="mse"'
    assert text_of(SOURCE, 4, "Log", "origin", span) == "model.compile("


def test_calls_of_objects_and_of_modules() -> None:
    expressions = Expressions(process(SOURCE))
    assert expressions.calls_object(Frame("a.py", 7, "f")) and not expressions.calls_object(Frame("a.py", 2, "f"))


@pytest.mark.parametrize("text", ["def f(:\n  log(x)", "\0\nlog(x)", "(" * 5000 + "\nlog(x)", ""])
def test_a_file_that_cannot_be_parsed(text: str) -> None:
    assert text_of(text, 2, "Log") is None


def test_columns_that_a_trace_makes_up() -> None:
    for span in (Span(2, -5, 2, 3), Span(2, 900, 2, 1 << 60), Span(-1, 0, 0, 0), Span(2, 7, 1, 0)):
        text_of(SOURCE, 2, "Log", span=span)


@pytest.mark.parametrize("width", [40, 120])
def test_the_mark_stands_under_its_expression(width: int) -> None:
    out, text = io.StringIO(), "    é = tf.math.log(x) / y"
    Console(file=out, width=width).print(Underline(text, (8, 22)))
    assert out.getvalue().splitlines() == [" " * (12 + 8) + "─" * 14]
    assert list(Underline("x" * 200, (0, 3)).__rich_console__(*_narrow())) == []


def _narrow() -> Any:
    console = Console(width=80)
    return console, console.options


def test_both_lines_are_told() -> None:
    one = finding()
    other = OtherLine("train.py", 31, "main", "model.fit(x, y)")
    out = io.StringIO()
    found = replace(one, columns=(15, 29), shown_at=other)
    Console(file=out, width=120).print(verdict(Diagnosis("run", (found,), (), (), (), 10, 4)))
    lines = out.getvalue().splitlines()
    at = next(number for number, line in enumerate(lines) if "▶" in line)
    assert lines[at + 1].strip() == "─" * 14
    assert any("Used in" in line and "line 31: model.fit(x, y)" in line for line in lines)
    assert found.to_json()["columns"] == (15, 29) and found.to_json()["shown_at"]["line"] == 31
