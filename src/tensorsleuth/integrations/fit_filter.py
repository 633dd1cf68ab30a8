"""The epochs and batches that the user wants recorded."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass

from tensorsleuth.core.errors import SleuthError

NumberFilter = int | Container[int] | Callable[[int], bool] | None


@dataclass(frozen=True)
class FitFilter:
    """Chosen epochs and batches; None chooses all."""

    epochs: NumberFilter = None
    batches: NumberFilter = None

    def __post_init__(self) -> None:
        for name in ("epochs", "batches"):
            span = getattr(self, name)
            if not (span is None or isinstance(span, int | Container) or callable(span)) or isinstance(span, str):
                asked = "it must be a number, a range, a set, or a function of a number, e.g. range(3)."
                raise SleuthError(f"{name} is {span!r}; {asked}")

    @property
    def records_all(self) -> bool:
        return self.epochs is None and self.batches is None

    def includes(self, epoch: int | None, first: int, last: int) -> bool:
        """Return whether to record any of the batches `first` to `last`, which run as one."""
        chosen = epoch is None or _selects(self.epochs, epoch)
        return chosen and any(_selects(self.batches, batch) for batch in range(first, last + 1))


def _selects(number_filter: NumberFilter, number: int) -> bool:
    if number_filter is None:
        return True
    if isinstance(number_filter, int):
        return number == number_filter
    return number in number_filter if isinstance(number_filter, Container) else bool(number_filter(number))
