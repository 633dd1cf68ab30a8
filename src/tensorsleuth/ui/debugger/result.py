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
    HINT = "hint"  # the next step


@dataclass(frozen=True)
class TextBlock:
    """Lines of one tone."""

    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True)
class TableBlock:
    """Rows under headings. Each row may have its own tone."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    tones: tuple[Tone, ...] = ()  # one for each row, or none


@dataclass(frozen=True)
class CodeLine:
    """A line of the program, with the health of its tensors in the margin."""

    number: int
    text: str
    margin: str = ""
    tone: Tone = Tone.DIM
    here: bool = False
    notes: tuple[str, ...] = ()  # lines below it


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
    """Blocks to show one below the other. With a `listing`, the list of tensors on the screen shows it."""

    blocks: tuple[Block, ...] = ()
    listing: Listing | None = None
    moved: bool = False  # whether the command selected another tensor
    quit: bool = False


def message_result(text: str, tone: Tone = Tone.PLAIN) -> CommandResult:
    """Return an answer of one sentence."""
    return CommandResult((TextBlock(text, tone),))
