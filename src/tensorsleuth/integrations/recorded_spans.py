"""The epochs, or batches, that the user wants recorded."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass

from tensorsleuth.core.errors import SleuthError

Span = int | Container[int] | Callable[[int], bool] | None


@dataclass(frozen=True)
class Spans:
    """Chosen epochs and batches; None chooses all."""

    epochs: Span = None
    batches: Span = None

    def __post_init__(self) -> None:
        for name in ("epochs", "batches"):
            span = getattr(self, name)
            if not (span is None or isinstance(span, int | Container) or callable(span)) or isinstance(span, str):
                asked = "it must be a number, a range, a set, or a function of a number, e.g. range(3)."
                raise SleuthError(f"{name} is {span!r}; {asked}")

    @property
    def everything(self) -> bool:
        return self.epochs is None and self.batches is None

    def wants(self, epoch: int | None, first: int, last: int) -> bool:
        """Is any of the batches from `first` to `last`, which run as one, to be recorded."""
        chosen = epoch is None or _in(self.epochs, epoch)
        return chosen and any(_in(self.batches, batch) for batch in range(first, last + 1))


def _in(span: Span, number: int) -> bool:
    if span is None:
        return True
    if isinstance(span, int):
        return number == span
    return number in span if isinstance(span, Container) else bool(span(number))
