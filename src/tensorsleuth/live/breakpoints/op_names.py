"""Finds the op of a tensor id while the catalogue is still growing."""

from __future__ import annotations

import os
import threading
from bisect import bisect_right
from dataclasses import dataclass

from tensorsleuth.trace.process.process import ProcessTrace
from tensorsleuth.trace.query.ops import Op, OpIndex
from tensorsleuth.trace.storage.files import Folder

FIRST_OWN_ID = 1 << 31  # the first id for tensors outside the catalogue: eager gradients and variables


@dataclass(frozen=True)
class JudgedOp:
    """The op whose output a condition judges. The user's predicate gets it as an argument."""

    name: str  # of the node; for an eager op: its type
    type: str
    layer: str | None
    file: str | None
    line: int | None
    step: int  # the training step
    output: int = 0  # the index of the output

    @property
    def tensor(self) -> str:
        return f"{self.name}:{self.output}"


class TensorNames:
    """Looks up tensors in the catalogue of a trace. Reads the catalogue again when it has grown."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._size = -1
        self._ops: list[Op] = []
        self._firsts: list[int] = []
        self._own: dict[int, JudgedOp] = {}
        self._of_own: dict[tuple[str, str], int] = {}

    def own_id(self, name: str, kind: str, file: str | None, line: int | None) -> int:
        """Return an id for a tensor that is not in the catalogue."""
        with self._lock:
            number = self._of_own.setdefault((name, kind), FIRST_OWN_ID + len(self._of_own))
            self._own[number] = JudgedOp(name, kind, None, file, line, -1)
            return number

    def op_of(self, tensor: int, step: int) -> JudgedOp:
        with self._lock:
            known = self._own.get(tensor)
            if known is not None:
                return JudgedOp(known.name, known.type, None, known.file, known.line, step)
            op = self._find(tensor)
            if op is None and self._reread():
                op = self._find(tensor)
        if op is None:
            return JudgedOp("?", "?", None, None, None, step)
        return JudgedOp(op.name, op.type, op.layer, op.file, op.line, step, tensor - op.first_tensor)

    def _find(self, tensor: int) -> Op | None:
        at = bisect_right(self._firsts, tensor) - 1
        return self._ops[at] if at >= 0 and tensor < self._ops[at].first_tensor + self._ops[at].outputs else None

    def _reread(self) -> bool:
        size = os.stat(self._folder / "catalog.journal").st_size
        if size == self._size:
            return False
        self._size = size
        self._ops = [op for op in OpIndex(ProcessTrace(self._folder)).ops if op.outputs]
        self._firsts = [op.first_tensor for op in self._ops]
        return True
