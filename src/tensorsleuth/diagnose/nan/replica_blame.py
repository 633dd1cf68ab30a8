"""The replica that broke first, and the fate of the others."""

from __future__ import annotations

from tensorsleuth.core.ops.kinds import COLLECTIVES
from tensorsleuth.diagnose.nan.case import Case
from tensorsleuth.trace.dataflow.observed import Observed


class Apart:
    """A case among replicas."""

    def __init__(self, case: Case) -> None:
        self._finder = case.finder
        self._moment = case.birth.moment
        self._replicas = case.finder.replicas
        self._number = self._replicas.of(case.birth.out)

    @property
    def replica(self) -> str | None:
        """The one in which it was born, e.g. `replica 1 of 2 (CPU:1)`."""
        return self._replicas.name(self._number) if self._number is not None else None

    @property
    def others(self) -> str | None:
        """Return the fate of the others in the same call, in a sentence."""
        if self._number is None:
            return None
        others = [number for number in range(self._replicas.count) if number != self._number]
        bad = {self._replicas.of(one) for one in self._moment.bad.values()}
        born = {self._replicas.of(birth.out) for birth in self._finder.births(self._moment)}
        said = (
            ([number for number in others if number in bad - born], f"caught it{self._way}"),
            ([number for number in others if number in born], "broke in the same step too"),
            ([number for number in others if number not in bad], "stayed healthy in that step"),
        )
        return "; ".join(f"{_list(numbers)} {what}" for numbers, what in said if numbers)

    @property
    def _way(self) -> str:
        """Return how the bad value reached them, if that was recorded."""
        return " from the all-reduce" if any(self._adds_up(one) for one in self._moment.bad.values()) else ""

    def _adds_up(self, one: Observed) -> bool:
        """Return whether it is made of what all replicas gave: by a collective, or on one of their devices."""
        return one.op in COLLECTIVES or (one.op == "AddN" and self._replicas.of(one) is None)


def _list(numbers: list[int]) -> str:
    return f"replica{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
