"""The eager tensors known to be bad, by uid, with the reason for each. Their number is bounded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

MAX_SUSPECTS = 65_536


class SuspectReason(IntEnum):
    """The reason why a tensor is bad. If there are several, the lowest counts."""

    BORN = 0  # an op computed it from finite values, or it holds a NaN
    DATA = 1  # it was infinite when it entered TensorFlow
    LITERAL = 2  # the program wrote an infinity: a mask, or the initial value of a minimum


@dataclass(frozen=True, slots=True)
class Suspect:
    """A bad tensor."""

    call: int  # the call that computed it
    nan: bool
    reason: SuspectReason
    inputs: tuple[int, ...]  # the uids of all inputs, bad or not


class Suspects:
    """The tensors known to be bad. Any thread may call these methods."""

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
        """Return why a tensor with these inputs is bad. Return `born` if none of the inputs is bad."""
        return min((self._known[uid].reason for uid in self.among(uids)), default=born)

    def history(self, uids: Iterable[int]) -> tuple[set[int], set[int]]:
        """Return the calls that the bad values went through, and the uids of all inputs of these calls."""
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
