"""The program's text, with the health of each line's tensors in the margin."""

from __future__ import annotations

import os

from rich.style import Style
from rich.text import Text

from tensorsleuth.core.formatting import printable
from tensorsleuth.ui.debugger.rendering import render_code_line
from tensorsleuth.ui.debugger.result import CodeBlock
from tensorsleuth.ui.tui.lines import Lines


class SourceView(Lines):
    """A file, scrolled to a line."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self.code: CodeBlock | None = None
        self.here = 0

    def count(self) -> int:
        return len(self.code.lines) if self.code is not None else 0

    def show(self, code_block: CodeBlock | None, here: int | None) -> None:
        """Show a file with a line in the middle."""
        self.code, self.here = code_block, here or 0
        title = (
            f"{os.path.basename(code_block.file)}:{here}"
            if code_block is not None
            else "source: not a file of the program"
        )
        self.border_title = printable(title).replace("[", r"\[")
        self.reset_lines()
        self.call_after_refresh(self.bring_into_view, max(self.here - 1, 0), True)

    def line(self, at: int, width: int) -> Text:
        assert self.code is not None
        return render_code_line(self.code.lines[at], len(str(len(self.code.lines))))

    def line_style(self, at: int) -> Style:
        return self.rich_style + Style(bold=True) if at + 1 == self.here else self.rich_style
