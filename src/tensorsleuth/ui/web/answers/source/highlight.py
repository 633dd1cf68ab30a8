"""Python source as HTML: Pygments' tokens as spans, line by line. All text of a trace is escaped."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from pygments.lexers.python import PythonLexer
from pygments.token import STANDARD_TYPES, _TokenType

MAX_HIGHLIGHTED_LETTERS = 400_000  # longer files are not coloured


def highlight_lines(text: str) -> list[str]:
    """Return the lines of a file. A token over several lines is closed and opened again at each line's end."""
    lines = [""]
    for css, value in _tokens(text):
        first, *rest = value.split("\n")
        lines[-1] += _span(css, first)
        lines += [_span(css, part) for part in rest]
    return lines[:-1] if text.endswith("\n") or not text else lines


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    if len(text) > MAX_HIGHLIGHTED_LETTERS:
        yield "", text
        return
    for _, kind, value in PythonLexer().get_tokens_unprocessed(text):
        yield _css(kind), value


def _css(kind: _TokenType) -> str:
    """Return the class of a token, or of its nearest parent kind that has one."""
    while kind not in STANDARD_TYPES and kind.parent is not None:
        kind = kind.parent
    return str(STANDARD_TYPES.get(kind, ""))


def _span(css: str, text: str) -> str:
    return f'<span class="{css}">{escape(text)}</span>' if css and text.strip() else escape(text)
