"""The eager tensors that are known to be bad, and what each came of: a bounded memory, by the tensors' uids."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

MAX_SUSPECTS = 65_536


class SuspectReason(IntEnum):
    """Why a tensor is bad; of several, the lowest counts."""

    BORN = 0  # computed from values that were finite; or it holds a NaN
    DATA = 1  # infinite when it came into TensorFlow
    LITERAL = 2  # the program wrote an infinity down: a mask, a first value for a minimum


@dataclass(frozen=True, slots=True)
class Suspect:
    """A bad tensor."""

    call: int  # that computed it
    nan: bool
    reason: SuspectReason
    inputs: tuple[int, ...]  # uids of what it was computed from, bad or not


class Suspects:
    """The tensors that are known to be bad. Any thread may call."""

    def __init__(self) -> None:
        self._known: dict[int, Suspect] = {}

    def __bool__(self) -> bool:
        return bool(self._known)

    def get(self, uid: int) -> Suspect | None:
        return self._known.get(uid)

    def add(self, uid: int, suspect: Suspect) -> None:
        self._known[uid] = suspect
        while len(self._known) > MAX_SUSPECTS:
            self._known.pop(next(iter(self._known)), None)

    def among(self, uids: Iterable[int]) -> list[int]:
        return [uid for uid in uids if uid in self._known]

    def clear(self) -> None:
        self._known.clear()

    def reason(self, uids: Iterable[int], born: SuspectReason = SuspectReason.BORN) -> SuspectReason:
        """Return why a tensor is bad that was computed from these; `born` where none of them is."""
        return min((self._known[uid].reason for uid in self.among(uids)), default=born)

    def history(self, uids: Iterable[int]) -> tuple[set[int], set[int]]:
        """The calls that badness went through on its way to these tensors, and the uids of all that went into them."""
        calls: set[int] = set()
        seen: set[int] = set()
        todo = list(uids)
        while todo:
            uid = todo.pop()
            suspect = self._known.get(uid)
            if uid in seen or suspect is None:
                seen.add(uid)
                continue
            seen.add(uid)
            calls.add(suspect.call)
            todo.extend(suspect.inputs)
        return calls, seen
