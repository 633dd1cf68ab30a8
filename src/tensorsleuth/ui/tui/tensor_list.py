"""The list of tensors, or of alerts."""

from __future__ import annotations

from rich.text import Text

from tensorsleuth.core.formatting import printable
from tensorsleuth.ui.debugger.listing import Listing
from tensorsleuth.ui.debugger.tensor_description import health_word
from tensorsleuth.ui.tui.lines import SelectableLines

STATE_WIDTH = 4  # columns for NaN, −∞, ok
STEP_WIDTH = 4
STYLES = {"ok": "green", "?": "dim"}  # all other states are bad


class TensorList(SelectableLines):
    """A list of tensors with a cursor."""

    def __init__(self, listing: Listing, id: str) -> None:
        super().__init__(id=id)
        self.listing = listing

    def count(self) -> int:
        return len(self.listing)

    def show(self, listing: Listing, place: int | None = None) -> None:
        """Show another list, with the cursor on a tensor of it."""
        self.listing = listing
        at = listing.find(place) if place is not None and place >= 0 else None
        far = at is not None and not self._in_view(at)
        self.reset_lines()
        self.move_cursor(at if at is not None else self.cursor)
        self.call_after_refresh(self.bring_into_view, self.cursor, far)

    def move_cursor(self, at: int) -> None:
        super().move_cursor(at)
        here = f"{self.cursor + 1:,}/" if len(self.listing) else ""
        self.border_title = printable(f"{self.listing.options.title} {here}{len(self.listing):,}").replace("[", r"\[")

    def _in_view(self, at: int) -> bool:
        return 0 <= at - self.scroll_offset.y < self.scrollable_content_region.height

    def line(self, at: int, width: int) -> Text:
        event = self.listing.event(at)
        word = health_word(event)
        step = int(self.listing.everything.health["step"][self.listing.places[at]])
        said = Text.assemble((f"{word:>{STATE_WIDTH}} ", STYLES.get(word, "bold red")))
        said.append(f"{step if step >= 0 else '–':>{STEP_WIDTH}} ", style="dim")
        return said.append(_end(printable(event.name), width - said.cell_len))


def _end(name: str, width: int) -> str:
    """Return the end of a long name, which identifies it."""
    return name if len(name) <= width else f"…{name[len(name) - width + 1 :]}"
