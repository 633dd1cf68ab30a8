"""What Python-Markdown, and so MkDocs, reads otherwise than GitHub does."""

from __future__ import annotations

import re

FENCE = re.compile(r" *(```|~~~)")
ITEM = re.compile(r"([-*+]|\d+\.) ")
CODE = re.compile(r"`[^`]+`")


def for_python_markdown(text: str) -> str:
    """Put a blank line before lists and tables that follow a paragraph, and no backslash before a pipe in code."""
    lines: list[str] = []
    is_fenced = is_paragraph = False
    for line in text.splitlines():
        is_fence = FENCE.match(line) is not None
        if is_fence or is_fenced:
            lines.append(line)
            is_fenced, is_paragraph = is_fenced != is_fence, False
            continue
        is_table, is_item = line.startswith("|"), ITEM.match(line) is not None
        if is_paragraph and (is_table or is_item):
            lines.append("")
        lines.append(CODE.sub(lambda code: code[0].replace("\\|", "|"), line) if is_table else line)
        starts = not (is_table or is_item) and re.match(r"[^\s#]", line) is not None
        is_paragraph = starts and (is_paragraph or not lines[:-1] or _ends_block(lines[-2]))
    return "\n".join(lines) + "\n"


def _ends_block(line: str) -> bool:
    return not line.strip() or line.startswith(("#", "```", "|"))
