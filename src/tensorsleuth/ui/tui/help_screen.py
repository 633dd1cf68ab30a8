"""All keys and commands on one page."""

from __future__ import annotations

from typing import ClassVar

from rich.console import Group
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from tensorsleuth.ui.debugger.commands import all_commands
from tensorsleuth.ui.tui.keys import KEYS, PANE_KEYS


class HelpScreen(ModalScreen[None]):
    """The help, above the panes until Escape."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark,enter", "dismiss", "close", show=False)]

    def compose(self) -> ComposeResult:
        with VerticalScroll() as page:
            page.border_title = "help · Escape closes"
            yield Static(Group(Text("Keys", style="bold"), _keys(), Text("\nCommands", style="bold"), _commands()))

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()


def _keys() -> Table:
    table = _table()
    for key in (*PANE_KEYS, *KEYS):
        table.add_row(key.shown, key.text)
    return table


def _commands() -> Table:
    table = _table()
    for command in all_commands():
        table.add_row(", ".join((command.name, *command.aliases)), command.summary)
    return table


def _table() -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold cyan", no_wrap=True)
    table.add_column()
    return table
