"""The graph around a tensor: what went in above it, what was computed from it below."""

from __future__ import annotations

from rich.text import Text

from tensorsleuth.core.formatting import of, printable
from tensorsleuth.ui.debugger.portrait import Portrait
from tensorsleuth.ui.tui.lines import Choice

IN, HERE, OUT = "↓", "●", "└"


class Walk(Choice):
    """Neighbours to go to."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self._entries: list[tuple[str, Portrait]] = []

    def count(self) -> int:
        return len(self._entries)

    def show(self, inputs: list[Portrait], here: Portrait, consumers: list[Portrait]) -> None:
        """Show the neighbours of a tensor, the cursor on itself."""
        self._entries = [*((IN, one) for one in inputs), (HERE, here), *((OUT, one) for one in consumers)]
        self.changed()
        self.put(len(inputs))
        self.border_title = f"{of(len(inputs), 'input')} above, {of(len(consumers), 'consumer')} below"
        self.call_after_refresh(self.bring_into_view, len(inputs), True)

    def line(self, at: int, width: int) -> Text:
        sign, one = self._entries[at]
        said = Text.assemble((f"{sign} ", "dim"))
        said.append(printable(one.name), style="bold" if sign == HERE else "")
        return said.append(f"  {printable(one.words)}", style="red" if one.bad else "dim")
