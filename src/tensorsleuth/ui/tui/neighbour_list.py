"""The graph around a tensor: its inputs above, its consumers below."""

from __future__ import annotations

from rich.text import Text

from tensorsleuth.core.formatting import plural, printable
from tensorsleuth.ui.debugger.tensor_description import TensorDescription
from tensorsleuth.ui.tui.lines import SelectableLines

INPUT_SIGN, FOCUS_SIGN, CONSUMER_SIGN = "↓", "●", "└"


class NeighbourList(SelectableLines):
    """A list of neighbours to go to."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self._entries: list[tuple[str, TensorDescription]] = []

    def count(self) -> int:
        return len(self._entries)

    def show(
        self, inputs: list[TensorDescription], here: TensorDescription, consumers: list[TensorDescription]
    ) -> None:
        """Show the neighbours of a tensor, with the cursor on the tensor itself."""
        self._entries = [
            *((INPUT_SIGN, one) for one in inputs),
            (FOCUS_SIGN, here),
            *((CONSUMER_SIGN, one) for one in consumers),
        ]
        self.reset_lines()
        self.move_cursor(len(inputs))
        self.border_title = f"{plural(len(inputs), 'input')} above, {plural(len(consumers), 'consumer')} below"
        self.call_after_refresh(self.bring_into_view, len(inputs), True)

    def line(self, at: int, width: int) -> Text:
        sign, one = self._entries[at]
        said = Text.assemble((f"{sign} ", "dim"))
        said.append(printable(one.name), style="bold" if sign == FOCUS_SIGN else "")
        return said.append(f"  {printable(one.health)}", style="red" if one.bad else "dim")
