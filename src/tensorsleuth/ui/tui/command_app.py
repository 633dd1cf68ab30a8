"""Runs commands in the background, one after the other, and shows their answers."""

from __future__ import annotations

from collections import deque

from rich.text import Text
from textual.widgets import RichLog

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.formatting import printable
from tensorsleuth.ui.debugger.listing import Listing
from tensorsleuth.ui.debugger.rendering import render_result
from tensorsleuth.ui.debugger.result import CommandResult
from tensorsleuth.ui.debugger.result import TextBlock as TextBlock
from tensorsleuth.ui.tui import keys
from tensorsleuth.ui.tui.background_app import BackgroundApp
from tensorsleuth.ui.tui.command_line import CommandLine


class CommandApp(BackgroundApp):
    """The part of the app that runs commands."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: deque[str] = deque()  # commands
        self._busy = False  # while a command runs

    def action_pane(self, name: str) -> None:
        raise NotImplementedError

    def action_command(self, line: str) -> None:
        """Run a command off the screen's thread, after earlier commands, since a live program may make it wait."""
        self._waiting.append(line)
        self._run_next()

    def _run_next(self) -> None:
        if self._waiting and not self._busy:
            self._busy = True
            line = self._waiting.popleft()
            self.say(f"{line} …")
            self.run_worker(lambda: self._run(line), thread=True, group="command")

    def _run(self, line: str) -> None:
        result: CommandResult | str
        try:
            with self.debugger_lock:
                result = self.debugger.run_line(line)
        except SleuthError as error:
            result = str(error)
        except Exception as error:  # an error of ours costs a line, not the session
            result = f"{line} failed because of a bug in tensorsleuth: {type(error).__name__}: {error}"
        self.call_from_thread(self._finish_command, line, result)

    def _finish_command(self, line: str, command_result: CommandResult | str) -> None:
        self._busy = False
        if isinstance(command_result, str):
            self.say(command_result, bad=True)
        else:
            self._show_result(line, command_result)
        self._run_next()

    def _show_result(self, line: str, command_result: CommandResult) -> None:
        self.say(keys.HINT)
        if command_result.quit:
            self.exit()
        elif command_result.listing is not None:
            self._show_listing(command_result.listing)
        elif command_result.moved and _short(command_result, 2):
            self.show_focus()
            self._show_pane("list", stay=isinstance(self.focused, CommandLine))
        elif _short(command_result, 1) and "\n" not in (text := getattr(command_result.blocks[0], "text", "")):
            self.say(text)
        else:
            self._show_output(line, command_result)

    def _show_pane(self, pane: str, stay: bool) -> None:
        """Show a pane; a user who is typing keeps the focus."""
        typing = self.focused
        self.action_pane(pane)
        if stay:
            self.screen.set_focus(typing)

    def _show_listing(self, listing: Listing) -> None:
        """Show a list, with the selected tensor in view."""
        if len(listing):
            ahead = listing.nearest_by_time(self.debugger.place()) if listing.options.is_by_time else 0
            self.debugger.select(listing.event(ahead))
        else:
            self.say(f"no tensor: {listing.options.title}")
        self.show_focus()
        self._show_pane("list", stay=bool(self.query_one(CommandLine).value or self._waiting))

    def _show_output(self, line: str, command_result: CommandResult) -> None:
        if command_result.moved:
            self.show_focus()
        output = self.query_one("#output", RichLog)
        before, width = len(output.lines), self.size.width - 3  # its own width is unknown while it is hidden
        output.write(Text(f"› {printable(line)}", style="bold cyan"), width=width, scroll_end=False)
        output.write(render_result(command_result), width=width, scroll_end=False)
        self._show_pane("output", stay=isinstance(self.focused, CommandLine))
        self.call_after_refresh(lambda: output.scroll_to(y=before, animate=False, force=True))


def _short(command_result: CommandResult, blocks: int) -> bool:
    """Return whether an answer is only a sentence or two."""
    return 0 < len(command_result.blocks) <= blocks and all(
        isinstance(block, TextBlock) for block in command_result.blocks
    )
