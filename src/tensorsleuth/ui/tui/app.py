"""The terminal debugger: panes on the debugger's state, and the command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.events import Resize
from textual.widgets import ContentSwitcher, RichLog, Static

from tensorsleuth.core.formatting import printable
from tensorsleuth.ui.debugger.commands.sources import code_of
from tensorsleuth.ui.debugger.debugger import ALERTS, Debugger
from tensorsleuth.ui.debugger.listing import ListOptions
from tensorsleuth.ui.debugger.live_program import has_socket
from tensorsleuth.ui.debugger.tensor_description import describe_tensor
from tensorsleuth.ui.tui import keys, style
from tensorsleuth.ui.tui.background_app import SECONDS_BETWEEN_STATUS
from tensorsleuth.ui.tui.command_app import CommandApp
from tensorsleuth.ui.tui.command_line import CommandLine
from tensorsleuth.ui.tui.details import Details
from tensorsleuth.ui.tui.headline import headline, live_line
from tensorsleuth.ui.tui.help_screen import HelpScreen
from tensorsleuth.ui.tui.lines import SelectableLines
from tensorsleuth.ui.tui.neighbour_list import NeighbourList
from tensorsleuth.ui.tui.source_view import SourceView
from tensorsleuth.ui.tui.tensor_list import TensorList

SECONDS_TO_SETTLE = 0.05  # the cursor rests this long before the slower panes follow it
ANSI_THEME = "ansi-dark"  # of Textual 8
PANES = ("list", "walk", "source")


class DebuggerApp(CommandApp):
    """The debugger by keyboard. All panes follow the selected tensor."""

    CSS = style.CSS
    BINDINGS: ClassVar[list[BindingType]] = keys.BINDINGS
    ENABLE_COMMAND_PALETTE = False
    TITLE = "sleuth debug"

    def __init__(self, debugger: Debugger) -> None:
        super().__init__()
        self.debugger = debugger
        debugger.seconds_to_pause = SECONDS_BETWEEN_STATUS  # its status is polled all the time
        self._neighbour_events: list[Any] = []  # tensors that the graph pane shows
        self._settle_timer: Any = None
        self._initial_focus: Any = None
        self._small = False

    def compose(self) -> ComposeResult:
        yield Static(" looking for the cause …", id="verdict")
        with ContentSwitcher(initial="panes", id="body"):
            with Horizontal(id="panes"):
                yield TensorList(self.debugger.listing, id="list")
                with Vertical(id="right"):
                    yield Details(id="details")
                    yield NeighbourList(id="walk")
                    yield SourceView(id="source")
            yield RichLog(id="output", wrap=True, min_width=20)
        yield CommandLine(self._names, id="command")
        yield Static(keys.HINT, id="keys")

    def on_mount(self) -> None:
        self.query_one("#output", RichLog).border_title = "output · Escape goes back"
        self.query_one("#list").focus()
        first = self.debugger.everything.first_bad()
        if first is None and len(self.debugger.everything):
            first = self.debugger.everything[0]
        if first is not None:
            self.debugger.preview(first)
        self._initial_focus = self.debugger.focus
        self.show_focus()
        self.start_refreshing()
        if self.debugger.live is None and has_socket(self.debugger.trace.path):
            self.say("the program waits for a debugger: quit, then run sleuth debug --attach")

    @property
    def untouched(self) -> bool:
        """Return whether the user has not selected anything yet."""
        return self.debugger.focus is self._initial_focus

    def _names(self) -> Iterable[str]:
        return dict.fromkeys(f"{op.name}:0" for op in self.debugger.trace.ops())

    # ---- panes

    def say(self, text: str, bad: bool = False) -> None:
        """Show one line at the bottom."""
        self.query_one("#keys", Static).update(
            Text(printable(text), style="bold red" if bad else "", overflow="ellipsis")
        )

    def show_headline(self) -> None:
        """Show the verdict, below the state of a live program."""
        lines = [live_line(self.status)] if self.status is not None else []
        lines.append(headline(self.diagnosis))
        self.query_one("#verdict", Static).update(Text("\n").join(lines))

    def show_focus(self, in_list: bool = True) -> None:
        """Make all panes follow the selected tensor."""
        event = self.debugger.focus
        if event is None:
            return
        if in_list:
            self.query_one(TensorList).show(self.debugger.listing, self.debugger.place())
        self.query_one(Details).show(describe_tensor(event))
        if self._settle_timer is not None:
            self._settle_timer.stop()
        self._settle_timer = self.set_timer(SECONDS_TO_SETTLE, self._settle)

    def show_grown(self) -> None:
        """Show new tensors: the list gets longer, the rest stays as the user left it."""
        if self.debugger.focus is None and len(self.debugger.everything):
            self.debugger.preview(self.debugger.everything[0])
            self.show_focus()
        self.query_one(TensorList).show(self.debugger.listing, self.debugger.place())

    def _settle(self) -> None:
        """Show the neighbours of the selected tensor, if they are not shown yet."""
        if self._settle_timer is not None:
            self._settle_timer.stop()
            self._settle_timer = None
            self._show_neighbours()

    def _show_neighbours(self) -> None:
        event = self.debugger.focus
        if event is None:
            return
        inputs, consumers = _neighbours(event)
        self._neighbour_events = [*inputs, event, *consumers]
        walk = self.query_one(NeighbourList)
        walk.show(
            [describe_tensor(one) for one in inputs],
            describe_tensor(event),
            [describe_tensor(one) for one in consumers],
        )
        source = event.source
        code = (
            code_of(self.debugger, source.file, source.line) if source is not None and source.code is not None else None
        )
        self.query_one(SourceView).show(code, source.line if source is not None else None)

    # ---- messages from panes

    @on(SelectableLines.Moved, "#list")
    def preview_tensor(self) -> None:
        tensors = self.query_one(TensorList)
        self.debugger.preview(tensors.listing.event(tensors.cursor))
        self.show_focus(in_list=False)

    @on(SelectableLines.Chosen, "#list")
    def open_neighbours(self) -> None:
        self.action_pane("walk")

    @on(SelectableLines.Chosen, "#walk")
    def select_neighbour(self, message: SelectableLines.Chosen) -> None:
        if message.list.cursor < len(self._neighbour_events):
            self.debugger.select(self._neighbour_events[message.list.cursor])
            self.show_focus()
            self._settle()

    def on_command_line_typed(self, message: CommandLine.Typed) -> None:
        self.action_command(message.line)

    def on_command_line_left(self) -> None:
        self.action_panes()

    def on_command_line_scroll(self, message: CommandLine.Scroll) -> None:
        output = self.query_one("#output", RichLog)
        output.scroll_relative(y=message.pages * max(1, output.size.height - 1), animate=False)

    def on_resize(self, event: Resize) -> None:
        self._small = event.size.width < style.SMALL_WIDTH or event.size.height < style.SMALL_HEIGHT
        self._arrange(self.focused.id if self.focused is not None else None)
        self.call_after_refresh(self.show_focus)

    def _arrange(self, pane: str | None) -> None:
        """Show all panes, or in a small window only the active one."""
        pane = pane if pane in PANES else "list"
        shown = {"list": ("list",), "walk": ("right", "details", "walk"), "source": ("right", "source")}
        for name in ("list", "right", "details", "walk", "source"):
            self.query_one(f"#{name}").display = not self._small or name in shown[pane]

    # ---- keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Handle keys here first, so that the next one finds the focus moved; typed text goes to the command line."""
        typing = isinstance(self.focused, CommandLine) or len(self.screen_stack) > 1
        return not typing or action not in keys.ACTIONS

    def action_pane(self, name: str) -> None:
        self.query_one(ContentSwitcher).current = "output" if name == "output" else "panes"
        self._arrange(name)
        self._settle()
        self.screen.set_focus(self.query_one(f"#{name}"))

    def action_focus_next(self) -> None:
        self._cycle(1)

    def action_focus_previous(self) -> None:
        self._cycle(-1)

    def _cycle(self, by: int) -> None:
        here = self.focused.id if self.focused is not None else None
        at = PANES.index(here) if here in PANES else -by
        self.action_pane(PANES[(at + by) % len(PANES)])

    def action_panes(self) -> None:
        self.say(keys.HINT)
        if self.query_one(ContentSwitcher).current == "panes" and self.debugger.listing.options != ListOptions():
            self.action_list("all")
        self.action_pane("list")

    def action_alert(self, towards: int) -> None:
        if self.debugger.next_alert(towards) is None:
            self.say(f"no bad tensor {'after' if towards > 0 else 'before'} this one")
        else:
            self.show_focus()

    def action_go_back(self) -> None:
        if self.debugger.back():
            self.show_focus()
        else:
            self.say("no tensor was selected before this one")

    def action_list(self, which: str) -> None:
        self.debugger.show_list(ALERTS if which == "alerts" else ListOptions())
        self.show_focus()
        self.action_pane("list")

    def action_type(self, text: str) -> None:
        line = self.query_one(CommandLine)
        line.value, line.cursor_position = text, len(text)
        self.screen.set_focus(line)

    def action_help(self) -> None:
        self.push_screen(HelpScreen())


def _neighbours(event: Any) -> tuple[list[Any], list[Any]]:
    """Return the neighbours of a tensor, or none if a damaged trace has invalid ones."""
    try:
        return event.inputs(), event.consumers()
    except Exception:
        return [], []


def open_debugger(debugger: Debugger) -> None:
    """Take the terminal until the user quits."""
    app = DebuggerApp(debugger)
    if app.console.color_system == "standard":
        app.theme = (
            ANSI_THEME if ANSI_THEME in app.available_themes else app.theme
        )  # the terminal's own colours, not the nearest to ours
    with _screen_on_terminal():
        app.run()


@contextmanager
def _screen_on_terminal() -> Iterator[None]:
    """Let Textual draw on the terminal if stderr, which it draws on, goes to a file."""
    stdout, stderr = sys.__stdout__, sys.__stderr__
    if (stderr is not None and stderr.isatty()) or stdout is None or not stdout.isatty():
        yield
        return
    with open(os.dup(stdout.fileno()), "w") as terminal:
        sys.__stderr__ = terminal  # type: ignore[misc]
        try:
            yield
        finally:
            sys.__stderr__ = stderr  # type: ignore[misc]
