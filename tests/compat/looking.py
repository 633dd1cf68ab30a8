"""How these tests look into a trace: rows with their tensors, lines, calls and steps."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorsleuth.core.catalog import Frame
from tensorsleuth.core.layout.rows import EventFlag, EventKind
from tensorsleuth.trace.process.process import ProcessTrace, TensorInfo
from tensorsleuth.trace.reader import Trace


@dataclass(frozen=True)
class Look:
    """One row, and what it says in the catalogue's words."""

    row: Any
    index: int
    tensor: TensorInfo
    process: ProcessTrace

    @property
    def type(self) -> str:
        return self.tensor.type

    @property
    def frame(self) -> Frame:
        assert self.tensor.site is not None and self.tensor.site.frame is not None, self.tensor
        return self.tensor.site.frame

    @property
    def line(self) -> int:
        return self.frame.line

    @property
    def forward_line(self) -> int:
        """The line of the op that this gradient op differentiates."""
        sites = self.process.catalogue.sites
        if self.tensor.eager is not None:
            site = sites[self.process.catalogue.eager[self.tensor.eager.forward].site]
        else:
            assert self.tensor.node is not None and self.tensor.node.forward is not None, self.tensor
            site = sites[self.tensor.node.forward.site]
        assert site.frame is not None
        return site.frame.line

    @property
    def iteration(self) -> int:
        return int(self.row["iteration"])

    @property
    def in_graph(self) -> bool:
        return bool(self.row["kind"] == EventKind.GRAPH)

    @property
    def bad(self) -> bool:
        return bool(self.row["flags"] & EventFlag.BAD)

    @property
    def call(self) -> int | None:
        return self.process.call_of(self.row)

    @property
    def step(self) -> int | None:
        return self.process.step_of(self.row)

    @property
    def value(self) -> Any:
        return self.process.value(self.index)


def looks(trace: Trace, kind: str | None = None, line: int | None = None) -> list[Look]:
    """The rows of tensors that ops of a type made, on a line of the program, oldest first."""
    return [
        look
        for look in _looks(trace)
        if (kind is None or look.type == kind)
        and (line is None or (look.tensor.site is not None and look.line == line))
    ]


def _looks(trace: Trace) -> Iterator[Look]:
    for process in trace.processes:
        for index, row in enumerate(process.events):
            if not row["kind"]:  # seen better when its call was run again
                continue
            tensor = process.tensor(row["tensor"])
            assert tensor is not None, f"row {index} is of tensor {row['tensor']}, which the catalogue lacks"
            yield Look(row, index, tensor, process)


def in_graph(trace: Trace, kind: str | None = None, line: int | None = None) -> list[Look]:
    return [look for look in looks(trace, kind, line) if look.in_graph]


def only(found: list[Look]) -> Look:
    assert len(found) == 1, [(look.tensor.name, look.type) for look in found]
    return found[0]


def marked(mark: str) -> int:
    """The number of the line, in the calling test's file, that ends in the comment `# <mark>`."""
    return marked_in(sys._getframe(1).f_code.co_filename, mark)


def marked_in(file: str, mark: str) -> int:
    """The same, of another file."""
    found = [n for n, text in enumerate(linecache.getlines(file), 1) if text.rstrip().endswith(f"# {mark}")]
    assert len(found) == 1, f"{mark!r} marks {len(found)} lines of {file}"
    return found[0]


def bits(result: Any) -> Any:
    """What a program gave back, so that == says whether every bit is the same."""
    if isinstance(result, dict):
        return {key: bits(value) for key, value in result.items()}
    if isinstance(result, list | tuple):
        return [bits(value) for value in result]
    array = np.asarray(result)
    data = array.tolist() if array.dtype == object else array.tobytes()
    return str(array.dtype), array.shape, data


def assert_joined(trace: Trace) -> None:
    """Every row that came of a call knows it, and the call its step."""
    for look in looks(trace):
        assert look.call is not None and look.step is not None, (look.tensor.name, look.row)
