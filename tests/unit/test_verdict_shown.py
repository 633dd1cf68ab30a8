"""How a finding is laid out in a narrow terminal."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from tensorsleuth.core.confidence import confidence_words
from tensorsleuth.core.finding import Basis, Diagnosis, Finding
from tensorsleuth.diagnose.rule import text_evidence
from tensorsleuth.diagnose.rules import rules
from tensorsleuth.ui.terminal.verdict import verdict
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
    ("notes", "told"), [(0, "HEALTHY  no problem found"), (1, "HEALTHY, 1 note  no"), (2, "HEALTHY, 2 notes")]
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


EXPLAINED = "high: its inputs explain it, and no earlier value was NaN or infinite"
BUILT, COUNTED = "high: the graph is built this way", "high: it was counted in the recording"


@pytest.mark.parametrize(
    ("cause", "confidence", "words"),
    [("log-zero", 0.9, EXPLAINED), ("log-zero", 0.7, "medium: it fits what was recorded")]
    + [("shape-mismatch", 0.9, "high: the error says so")]
    + [("log-zero", 0.69, "low: other causes may fit as well")]
    + [("heads-mixed", 0.9, BUILT), ("softmax-axis", 0.93, BUILT), ("mask-multiplied", 0.93, BUILT)]
    + [("saturated-attention", 0.9, COUNTED), ("padding-unmasked", 0.9, COUNTED)]
    + [("loss-rose", 0.6, "medium: it was counted in the recording, but it may be intended")]
    + [("violation", 1.0, "high: the expectation was checked on this tensor")]
    + [("origin", 0.4, "high for the line: its inputs were finite and its output was not. The reason is unknown")],
)
def test_confidence_in_words(cause: str, confidence: float, words: str) -> None:
    basis = next((rule.basis for rule in rules() if cause in rule.slugs), Basis.BAD_VALUE)
    seen = () if cause == "shape-mismatch" else (text_evidence("out", "Log", "1 −∞ of 10"),)
    found = replace(finding(), cause=cause, confidence=confidence, basis=basis, evidence=seen)
    assert confidence_words(found) == words
    out = io.StringIO()
    Console(file=out, width=160).print(verdict(Diagnosis("run", (found,), (), (), (), 10, 4)))
    assert f"   Confidence {words}\n" in re.sub(" +\n", "\n", out.getvalue())


@pytest.mark.parametrize(
    ("confidence", "words"),
    [(0.9, "high: the process ended this way"), (0.7, "medium: it fits what was recorded")]
    + [(0.5, "low: other causes may fit as well")],
)
def test_confidence_in_how_a_process_ended(confidence: float, words: str) -> None:
    assert confidence_words(replace(finding(), cause="killed", confidence=confidence), is_end=True) == words
