"""The end of a program, and its last activity."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tensorsleuth.core.catalog import Frame


@dataclass(frozen=True)
class RunningOp:
    """An op that a thread was running, or an op in a function that had all its inputs and no output yet."""

    thread: str  # `main thread`, `thread 4`
    op: str
    name: str
    file: str | None
    line: int | None
    function: str | None
    code: str | None
    layer: str | None = None
    seconds: float | None = None  # since it began; None where that is not known
    ended: bool = False  # it had ended: the thread had begun nothing since
    makes: str | None = None  # what it was to put out, where an earlier call did, e.g. `float32 [8192, 8192]`
    bytes: int | None = None  # the size of that
    inside: tuple[RunningOp, ...] = ()  # in a function: what was under way, likeliest first

    @property
    def innermost(self) -> RunningOp:
        """The op itself, where it is inside of a function."""
        return self.inside[0].innermost if self.inside else self


@dataclass(frozen=True)
class ThreadStack:
    """The Python lines of a thread, innermost first."""

    current: bool  # the thread that crashed
    frames: tuple[Frame, ...]
    user: int  # the first of the program's own, -1 where there is none

    @property
    def frame(self) -> Frame | None:
        return self.frames[self.user] if self.user >= 0 else None

    @property
    def called_by_tensorflow(self) -> bool:
        """A function of Python's that an op runs: tf.py_function, a generator of a dataset."""
        return any(frame.file.endswith("script_ops.py") for frame in self.frames)


@dataclass(frozen=True)
class LiveTensor:
    """A tensor that was in memory; or several, made by one op."""

    name: str
    dtype: str
    shape: tuple[int, ...] | None
    bytes: int  # of all of them
    line: str | None
    seconds: float | None = None  # since the first was made
    step: int | None = None  # in which it was
    count: int = 1


@dataclass(frozen=True)
class MemoryAtEnd:
    """The memory of a process at its end."""

    used: int | None  # by the process when it was last seen, in bytes, without files that are mapped
    peak: int | None  # the most that it used; where nobody looked in between, with files
    limit: int | None  # the container's
    machine: int | None
    curve: tuple[tuple[float, int], ...] = ()  # (seconds before the end, bytes used), oldest first
    largest: tuple[LiveTensor, ...] = ()
    oldest: tuple[LiveTensor, ...] = ()  # the longest-lived of 64 kB and more
    fits: str | None = None  # of a program that trains: which batch, or sequence, would have fit


@dataclass(frozen=True)
class RunEnd:
    """The end of a run."""

    kind: str  # finished, exit, stopped, or the cause of a finding: killed, segfault, hang, …
    sentence: str
    exit: int | None
    signal: str | None
    step: int | None
    when: str  # step, epoch and batch in words
    quiet: float | None  # seconds since the last op ended
    doing: tuple[RunningOp, ...] = ()  # the main thread first
    stacks: tuple[ThreadStack, ...] = ()
    memory: MemoryAtEnd | None = None
    said: tuple[str, ...] = ()  # what it printed last, where its stderr is a file

    def to_json(self) -> dict[str, Any]:
        """As `sleuth why --json` has it."""
        return asdict(self)
