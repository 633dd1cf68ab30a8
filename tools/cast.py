"""`python -m tools.cast FILE.svg`: run `sleuth demo` in a terminal of its own and draw what it printed as a picture."""

from __future__ import annotations

import html
import io
import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
COMMAND = "sleuth demo"
COLUMNS = 100
ROWS_OF_THE_PROGRAM = 3  # the last lines of the program's own output
SECONDS_A_LINE = 0.3
TEMPLATE = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<title>sleuth demo: the verdict on a program that cannot learn</title>
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""rich's own, without the fonts that it would fetch from the network."""


def demo_output() -> str:
    """Return what the demo prints, colours included, from the last lines of the program on."""
    with tempfile.TemporaryDirectory() as logdir:
        lines = run_in_a_terminal(["demo"], logdir).splitlines()
    printed = [line.rstrip() for line in lines if not is_of_tensorflow(line)]
    verdict = next(i for i, line in enumerate(printed) if plain(line).startswith(" sleuth "))
    return "\n".join([f"$ {COMMAND}", "…", *printed[verdict - ROWS_OF_THE_PROGRAM :]])


def run_in_a_terminal(arguments: list[str], logdir: str) -> str:
    """Run `sleuth` with its output on a terminal, so that it prints what a person sees."""
    controller, terminal = pty.openpty()
    env = os.environ | {"COLUMNS": str(COLUMNS), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    env |= {"TF_CPP_MIN_LOG_LEVEL": "3", "SLEUTH_LOGDIR": logdir}
    command = [sys.executable, "-m", "tensorsleuth.cli.main", *arguments]
    with subprocess.Popen(command, stdout=terminal, stderr=terminal, stdin=terminal, cwd=ROOT, env=env):
        os.close(terminal)
        return b"".join(iter(lambda: read(controller), b"")).decode()


def read(controller: int) -> bytes:
    try:
        return os.read(controller, 1 << 16)
    except OSError:  # a terminal reports this way that nobody writes to it any more
        return b""


def is_of_tensorflow(line: str) -> bool:
    return re.match(r"[IWEF]\d{4} |WARNING: All log|To enable the following", line) is not None


def plain(line: str) -> str:
    return Text.from_ansi(line).plain


def draw(output: str) -> str:
    """Return the picture of a terminal with this output in it."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi(output))
    styles = appearing(output.splitlines())
    picture = console.export_svg(title=COMMAND, code_format=TEMPLATE, unique_id="cast")
    return picture.replace("</style>", f"{styles}</style>", 1)


def appearing(lines: list[str]) -> str:
    """Return the styles that let the lines come one after another, and the verdict at once; once, then they stay."""
    verdict = next((i for i, line in enumerate(lines) if plain(line).startswith(" sleuth ")), len(lines))
    seconds = [SECONDS_A_LINE * min(i, verdict) for i in range(len(lines))]
    rule = 'text[clip-path="url(#cast-line-{})"] {{ animation: appear 1ms {:.1f}s both }}'
    rules = [rule.format(i, after) for i, after in enumerate(seconds) if i]
    steps = "@keyframes appear { from { opacity: 0 } to { opacity: 1 } }"
    still = "@media (prefers-reduced-motion: reduce) { text { animation: none !important } }"
    return "".join(f"{line}\n" for line in [steps, *rules, still])


def text_of(picture: str) -> list[str]:
    """Return the lines of text in a picture."""
    lines: dict[float, str] = {}
    for y, text in re.findall(r'<text [^>]*?\by="([\d.]+)"[^>]*?clip-path="[^"]*">(.*?)</text>', picture):
        lines[float(y)] = lines.get(float(y), "") + html.unescape(text).replace("\xa0", " ")
    return [line.strip() for _, line in sorted(lines.items())]


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(draw(demo_output()))
