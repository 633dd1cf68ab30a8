"""The replica that broke first, and the effect on the others."""

from __future__ import annotations

from tensorsleuth.core.ops.kinds import COLLECTIVES
from tensorsleuth.diagnose.nan.case import Case
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor


class ReplicaBlame:
    """An origin in one of several replicas."""

    def __init__(self, case: Case) -> None:
        self._finder = case.finder
        self._call_graph = case.origin.call_graph
        self._replicas = case.finder.replicas
        self._number = self._replicas.replica_of(case.origin.out)

    @property
    def replica(self) -> str | None:
        """Return the replica of the origin, e.g. `replica 1 of 2 (CPU:1)`."""
        return self._replicas.name(self._number) if self._number is not None else None

    @property
    def others(self) -> str | None:
        """Describe the effect on the others in the same call, in a sentence."""
        if self._number is None:
            return None
        others = [number for number in range(self._replicas.count) if number != self._number]
        bad = {self._replicas.replica_of(one) for one in self._call_graph.bad_tensors.values()}
        born = {self._replicas.replica_of(birth.out) for birth in self._finder.origins_in(self._call_graph)}
        said = (
            ([number for number in others if number in bad - born], f"caught it{self._route}"),
            ([number for number in others if number in born], "broke in the same step too"),
            ([number for number in others if number not in bad], "stayed healthy in that step"),
        )
        return "; ".join(f"{_list(numbers)} {what}" for numbers, what in said if numbers)

    @property
    def _route(self) -> str:
        """Return how the bad value reached them, if that was recorded."""
        return (
            " from the all-reduce"
            if any(self._combines_replicas(one) for one in self._call_graph.bad_tensors.values())
            else ""
        )

    def _combines_replicas(self, one: ObservedTensor) -> bool:
        """Return whether it is made of what all replicas gave: by a collective, or on one of their devices."""
        return one.op in COLLECTIVES or (one.op == "AddN" and self._replicas.replica_of(one) is None)


def _list(numbers: list[int]) -> str:
    return f"replica{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
