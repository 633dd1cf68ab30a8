"""How a finding is laid out in a narrow terminal."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from tensorsleuth.core.finding import Diagnosis, Finding
from tensorsleuth.diagnose.rules import rules
from tensorsleuth.ui.terminal.verdict import sureness, verdict
from tensorsleuth.ui.tui.headline import headline

LINE = "        return tf.reduce_mean(tf.nn.relu(first) + tf.math.log(second) * tf.exp(third))  # the end"


def finding() -> Finding:
    source = ((6, "def loss(first, second, third):"), (7, LINE), (8, f"    {'x' * 200}"))
    summary = "train.py:7 takes log(0)."
    place = ("train.py", 7, "loss", LINE.strip())
    return Finding("log-zero", 0.9, "error", summary, *place, "Log", "Log", 3, None, fix="change it", source=source)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_line_is_shown_whole(width: int) -> None:
    out = io.StringIO()
    Console(file=out, width=width).print(verdict(Diagnosis("run", (finding(),), (), (), (), 10, 4)))
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    assert max(map(len, lines)) <= width
    at = next(number for number, line in enumerate(lines) if "▶    7 │" in line)
    after = next(number for number, line in enumerate(lines) if " 8 │" in line)
    folded = [line[line.find("│") + 1 :].strip() for line in lines[at:after]]
    assert "".join(folded).replace(" ", "") == LINE.replace(" ", "")
    assert after - at == (1 if width == 120 else len(folded)) and lines[after].endswith("…")


@pytest.mark.parametrize(
    ("notes", "told"), [(0, "HEALTHY  4 steps"), (1, "HEALTHY, 1 note  4 s"), (2, "HEALTHY, 2 notes")]
)
def test_notes_are_counted_beside_the_verdict(notes: int, told: str) -> None:
    out, found = io.StringIO(), Diagnosis("run", (), (), (), (), 10, 4, notes=(finding(),) * notes)
    Console(file=out, width=80).print(verdict(found))
    assert out.getvalue().startswith(f" {told}") and headline(found).plain.startswith(told.replace("  ", " "))


def test_what_is_not_covered_is_one_folded_line() -> None:
    why = "it raises: {{function_node __inference_step_1}} indices[28,0] = 120 is not in [0, 120)\nin the second line"
    out = io.StringIO()
    entry = {"what": "the inside of step between bad values", "why": why, "site": 0}
    Console(file=out, width=60).print(verdict(Diagnosis("run", (), (), (entry,), (), 10, 4)))
    lines = out.getvalue().splitlines()
    told = lines[next(at for at, line in enumerate(lines) if "Not covered" in line) :]
    assert all(line.startswith("   ") and line[3] != " " for line in told) and len(told) == 2
    assert " ".join(line.strip() for line in told).endswith("(it raises: indices[28,0] = 120 is not in [0, 120))")


@pytest.mark.parametrize(
    ("cause", "sure"),
    [("heads-mixed", "yes: it is how the graph is made"), ("softmax-axis", "yes: it is how the graph is made")]
    + [("mask-multiplied", "yes: it is how the graph is made")]
    + [("saturated-attention", "yes: it was counted"), ("padding-unmasked", "yes: it was counted")],
)
def test_what_is_read_off_the_graph_was_not_counted(cause: str, sure: str) -> None:
    (rule,) = [rule for rule in rules() if cause in rule.slugs]
    assert sureness(replace(finding(), cause=cause, basis=rule.basis)) == sure
