"""A list of any length on the screen. Only the visible lines are ever made."""

from __future__ import annotations

from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.events import Click
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip


class Lines(ScrollView, can_focus=True):
    """Lines that a subclass makes one by one."""

    DEFAULT_CSS = "Lines { overflow-x: hidden; scrollbar-size-vertical: 1; }"

    def count(self) -> int:
        raise NotImplementedError

    def line(self, at: int, width: int) -> Text:
        raise NotImplementedError

    def line_style(self, at: int) -> Style:
        """Return the style under a line."""
        return self.rich_style

    def reset_lines(self) -> None:
        """Redraw, since the lines have changed."""
        self.virtual_size = Size(0, self.count())
        self.refresh()

    def render_line(self, y: int) -> Strip:
        at, width = y + self.scroll_offset.y, self.scrollable_content_region.width
        if not 0 <= at < self.count():
            return Strip.blank(width, self.rich_style)
        text = self.line(at, width)
        text.truncate(width, overflow="ellipsis")
        drawn = Strip(text.render(self.app.console)).adjust_cell_length(width)
        return drawn.apply_style(self.line_style(at))

    def bring_into_view(self, at: int, middle: bool = False) -> None:
        """Scroll just as far as needed to show a line."""
        height, top = self.scrollable_content_region.height, self.scroll_offset.y
        if middle:
            self.scroll_to(y=at - height // 2, animate=False, force=True)
        elif at < top:
            self.scroll_to(y=at, animate=False, force=True)
        elif height and at >= top + height:
            self.scroll_to(y=at - height + 1, animate=False, force=True)


class SelectableLines(Lines):
    """Lines with a cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "previous line", show=False),
        Binding("down,j", "move(1)", "next line", show=False),
        Binding("pageup", "page(-1)", "previous page", show=False),
        Binding("pagedown", "page(1)", "next page", show=False),
        Binding("home", "jump(0)", "first line", show=False),
        Binding("end", "jump(-1)", "last line", show=False),
        Binding("enter", "choose", "go", show=False),
    ]

    class Said(Message):
        """A message about a list."""

        def __init__(self, list: SelectableLines) -> None:
            super().__init__()
            self.list = list

        @property
        def control(self) -> SelectableLines:
            return self.list

    class Moved(Said):
        """The cursor has moved to another line."""

    class Chosen(Said):
        """The user has chosen the line under the cursor."""

    cursor = 0

    def line_style(self, at: int) -> Style:
        if at != self.cursor:
            return self.rich_style
        return self.rich_style + Style(reverse=self.has_focus, bold=True, underline=not self.has_focus)

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def move_cursor(self, at: int) -> None:
        """Put the cursor on a line, or on the nearest existing one."""
        self.cursor = max(0, min(at, self.count() - 1))
        self.bring_into_view(self.cursor)
        self.refresh()

    def action_move(self, by: int) -> None:
        if self.count():
            self.move_cursor(self.cursor + by)
            self.post_message(self.Moved(self))

    def action_page(self, by: int) -> None:
        self.action_move(by * max(1, self.scrollable_content_region.height - 1))

    def action_jump(self, to: int) -> None:
        self.action_move((to if to >= 0 else self.count() - 1) - self.cursor)

    def action_choose(self) -> None:
        if self.count():
            self.post_message(self.Chosen(self))

    def on_click(self, event: Click) -> None:
        self.action_move(event.y + self.scroll_offset.y - 1 - self.cursor)  # minus the title's line
