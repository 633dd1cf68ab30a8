"""The line at the bottom: commands, with history and completion."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.events import Key
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input

from tensorsleuth.ui.debugger.line_parser import complete_line

MAX_HISTORY = 500  # lines of history
PLACEHOLDER = ": for commands, such as lt  pt  ni  li  lo  ps  eval  run -f"


class Completion(Suggester):
    """Completes commands first, then names of tensors."""

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._names = names

    async def get_suggestion(self, value: str) -> str | None:
        return complete_line(value, self._names())


class CommandLine(Input):
    """Enter runs the line, up and down recall earlier lines, Tab completes, Escape leaves."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "history(-1)", "earlier command", show=False),
        Binding("down", "history(1)", "later command", show=False),
        Binding("tab", "complete", "complete", show=False),
        Binding("escape", "leave", "leave the command line", show=False),
        Binding("pageup", "scroll(-1)", "scroll the output up", show=False),
        Binding("pagedown", "scroll(1)", "scroll the output down", show=False),
    ]

    class Typed(Message):
        """A line to run."""

        def __init__(self, line: str) -> None:
            super().__init__()
            self.line = line

    class Left(Message):
        """The user has left the command line."""

    class Scroll(Message):
        """A request to scroll the output by pages."""

        def __init__(self, pages: int) -> None:
            super().__init__()
            self.pages = pages

    def __init__(self, names: Callable[[], Iterable[str]], id: str) -> None:
        super().__init__(placeholder=PLACEHOLDER, suggester=Completion(names), select_on_focus=False, id=id)
        self.history: list[str] = []
        self._at = 0

    def on_key(self, event: Key) -> None:
        """Handle Enter at once: a binding would run after letters that were typed behind it."""
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            self._hand_over()

    def _hand_over(self) -> None:
        line, self.value = self.value.strip(), ""
        if line:
            self.remember(line)
            self.post_message(self.Typed(line))

    def remember(self, line: str) -> None:
        if not self.history or self.history[-1] != line:
            self.history = [*self.history, line][-MAX_HISTORY:]
        self._at = len(self.history)

    def action_history(self, by: int) -> None:
        self._at = max(0, min(self._at + by, len(self.history)))
        self.value = self.history[self._at] if self._at < len(self.history) else ""
        self.cursor_position = len(self.value)

    def action_complete(self) -> None:
        if self._suggestion:
            self.value = self._suggestion
            self.cursor_position = len(self.value)

    def action_leave(self) -> None:
        self.value = ""
        self.post_message(self.Left())

    def action_scroll(self, pages: int) -> None:
        self.post_message(self.Scroll(pages))
