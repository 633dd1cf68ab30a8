"""The keys, in the order of the help: keys, action, description."""

from __future__ import annotations

from typing import NamedTuple

from textual.binding import Binding, BindingType


class Key(NamedTuple):
    keys: str  # Textual's names
    action: str
    shown: str  # the name in the help
    text: str


KEYS = (
    Key("tab", "focus_next", "Tab", "next pane"),
    Key("shift+tab", "focus_previous", "Shift+Tab", "previous pane"),
    Key("1", "pane('list')", "1", "the list of tensors"),
    Key("2", "pane('walk')", "2", "the graph around the tensor"),
    Key("3", "pane('source')", "3", "the source"),
    Key("4", "pane('output')", "4", "the output of commands"),
    Key("n", "alert(1)", "n", "next alert: a tensor with a NaN or an infinity"),
    Key("p", "alert(-1)", "p", "previous alert"),
    Key("w", "command('why')", "w", "the verdict in full, and go to the op that made the first bad value"),
    Key("a", "list('alerts')", "a", "list only alerts"),
    Key("t", "list('all')", "t", "list all tensors"),
    Key("backspace", "go_back", "Backspace", "back to the previous tensor"),
    Key("v", "command('pt')", "v", "the tensor's values"),
    Key("i", "command('ni -a -t')", "i", "all about its op"),
    Key("slash", "type('/')", "/", "search names, types, layers, lines"),
    Key("colon", "type('')", ":", "type a command"),
    Key("s", "command('step')", "s", "step: the next tensor, or the live program's next training step"),
    Key("c", "command('cont')", "c", "continue: to the next alert, or let the live program run"),
    Key("escape", "panes", "Escape", "back to the panes"),
    Key("question_mark", "help", "?", "this help"),
    Key("q", "quit", "q", "quit"),
)

# Keys that a pane handles by itself.
PANE_KEYS = (
    Key("up,down", "", "↑ ↓", "another tensor, neighbour or line"),
    Key("pageup,pagedown", "", "PgUp PgDn", "a page down or up"),
    Key("home,end", "", "Home End", "the first, the last"),
    Key("enter", "", "Enter", "in the list: to the graph; in the graph: go there; in the command line: run it"),
)

BINDINGS: list[BindingType] = [Binding(key.keys, key.action, key.text, show=False, priority=True) for key in KEYS]
ACTIONS = {key.action.partition("(")[0] for key in KEYS}
HINT = "↑↓ move  ⏎ walk  n/p alert  w why  / find  : command  ? help  q quit"
