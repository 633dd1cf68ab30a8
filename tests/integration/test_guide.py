"""Pages whose commands print what the page says: tutorial, guide to checks, cookbook; and the picture of the README."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest
from tests.integration.pages import LEFT_OUT, follow, hold_to, is_same, run
from tools import cast

DOCS = Path(__file__).parents[2] / "docs"
TUTORIAL = (DOCS / "tutorial.md").read_text()
GUIDE, COOKBOOK = (DOCS / "guide-checks.md").read_text(), (DOCS / "cookbook.md").read_text()
PROGRAMS = DOCS / "guide"

RUN_RECIPES = """
import sys
names = {}
for path in sys.argv[1:]:
    for stream in (sys.stdout, sys.stderr):
        print(f"@@ {path}", file=stream, flush=True)
    with open(path) as recipe:
        exec(compile(recipe.read(), path, "exec"), names)
"""


def test_the_tutorial(tmp_path: Path) -> None:
    hold_to(TUTORIAL, tmp_path)


def test_the_picture_of_the_readme_is_what_the_demo_prints() -> None:
    shown = cast.text_of((DOCS / "images" / "demo.svg").read_text())
    printed = cast.text_of(cast.draw(cast.demo_output()))
    assert without_numbers(shown) == without_numbers(printed), "draw it anew with: make screenshots"


def without_numbers(lines: list[str]) -> str:
    """Return the words: counts and times, and where lines break because of them, differ between machines."""
    return " ".join(re.sub(r"-?\d[\d.,e+-]*", "#", line) for line in lines)


def test_the_guide(tmp_path: Path) -> None:
    for program in PROGRAMS.glob("*.py"):
        shutil.copy(program, tmp_path)
    hold_to(GUIDE, tmp_path)


def test_its_programs_are_those_that_it_shows() -> None:
    shown = {block.splitlines()[0][2:]: block for block in re.findall(r"```python\n(.*?)```", GUIDE, re.S)}
    assert shown == {path.name: path.read_text() for path in PROGRAMS.glob("*.py")}


def test_following_is_strict() -> None:
    assert follow(["a", LEFT_OUT, "c"], ["a", "b", "c"]) is None and follow(["a", LEFT_OUT], ["a", "b"]) is None
    assert follow(["a", "c"], ["a", "b", "c"]) == "c" and follow(["a"], ["a", "b"]) == "(the end)"
    assert follow([LEFT_OUT, "d"], ["a"]) == "d"
    assert is_same("sums of 0.0645328", "sums of 0.0645331") and not is_same("sums of 0.0645328", "sums of 0.0655328")
    assert is_same("a … c", "a b c") and not is_same("a … c", "a b d")


def recipes(folder: Path) -> dict[str, list[str]]:
    """Write the recipes into a folder; what each is said to print, by its file. Programs are not among them."""
    said: dict[str, list[str]] = {}
    for number, (code, printed) in enumerate(re.findall(r"```python\n(.*?)```(?:\n```\n(.*?)```)?", COOKBOOK, re.S)):
        program = re.match(r"# (\w+\.py)\n", code)
        name = program[1] if program else f"recipe_{number}.py"
        (folder / name).write_text(code)
        if not program:
            said[name] = printed.splitlines()
    return said


def printed_by(lines: list[str]) -> dict[str, list[str]]:
    """What each recipe printed, to either stream."""
    told: dict[str, list[str]] = {}
    for line in lines:
        if line.startswith("@@ "):
            now = told.setdefault(line[3:], [])
        else:
            now.append(line)
    return told


@pytest.mark.filterwarnings("ignore")
def test_the_cookbook(tmp_path: Path) -> None:
    said = recipes(tmp_path)
    told = printed_by(run([sys.executable, "-c", RUN_RECIPES, *said], tmp_path))
    broken = {name: follow(lines, told.get(name, [])) for name, lines in said.items()}
    wrong = [f"{name} printed {told.get(name)}, the page has: {line}" for name, line in broken.items() if line]
    assert not wrong, "\n".join(wrong)
    hold_to(COOKBOOK, tmp_path)


def test_the_cookbook_has_all_tools() -> None:
    assert 15 <= len(re.findall(r"^### ", COOKBOOK, re.M)) <= 24
    tools = ("record(", "sleuth why", "guard(", "SleuthCallback", "break_when", "expect(", "Schema(", "checked(")
    assert [tool for tool in (*tools, "watch(", "log(", "sleuth view") if tool not in COOKBOOK] == []
