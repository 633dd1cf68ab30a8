"""Commands for the debugger itself: help, quit."""

from __future__ import annotations

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.ui.debugger.command import Arguments, Command, option
from tensorsleuth.ui.debugger.debugger import Debugger
from tensorsleuth.ui.debugger.result import CommandResult, TableBlock, TextBlock, Tone


def help_(debugger: Debugger, arguments: Arguments) -> CommandResult:
    from tensorsleuth.ui.debugger.commands import all_commands, by_name

    if arguments.command:
        command = by_name().get(arguments.command)
        if command is None:
            raise SleuthError(f"there is no command {arguments.command!r}. See: help")
        return CommandResult((TextBlock(command.help),))
    rows = tuple((", ".join((one.name, *one.aliases)), one.summary) for one in all_commands())
    return CommandResult((TableBlock(("command", "what it does"), rows), TextBlock("All take --help.", Tone.DIM)))


def quit_(debugger: Debugger, arguments: Arguments) -> CommandResult:
    return CommandResult(quit=True)


COMMANDS = (
    Command(
        "help",
        help_,
        "List the commands, or explain one.",
        (option("command", help="its name", nargs="?"),),
        ("h", "?"),
    ),
    Command("quit", quit_, "Leave. A paused program stays paused.", aliases=("q", "exit")),
)
