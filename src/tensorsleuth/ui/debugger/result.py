"""The answer of a command, before its layout."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tensorsleuth.core.finding import Diagnosis
    from tensorsleuth.ui.debugger.listing import Listing


class Tone(Enum):
    """The tone of a line."""

    PLAIN = "plain"
    TITLE = "title"
    DIM = "dim"
    GOOD = "good"
    BAD = "bad"
    HINT = "hint"  # what to do next


@dataclass(frozen=True)
class TextBlock:
    """Lines that are all meant alike."""

    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True)
class TableBlock:
    """Rows under headings; a row may have a tone of its own."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    tones: tuple[Tone, ...] = ()  # one a row, or none


@dataclass(frozen=True)
class CodeLine:
    """A line of the program, and in the margin how what it computed was."""

    number: int
    text: str
    margin: str = ""
    tone: Tone = Tone.DIM
    here: bool = False


@dataclass(frozen=True)
class CodeBlock:
    """Some lines of a file."""

    file: str
    lines: tuple[CodeLine, ...]


@dataclass(frozen=True)
class VerdictBlock:
    """The verdict of `sleuth why`."""

    diagnosis: Diagnosis


Block = TextBlock | TableBlock | CodeBlock | VerdictBlock


@dataclass(frozen=True)
class CommandResult:
    """Blocks to show one under the other. A listing is also what a list of tensors on the screen should now hold."""

    blocks: tuple[Block, ...] = ()
    listing: Listing | None = None
    moved: bool = False  # another tensor is looked at now
    quit: bool = False


def message_result(text: str, tone: Tone = Tone.PLAIN) -> CommandResult:
    """An answer of one sentence."""
    return CommandResult((TextBlock(text, tone),))
