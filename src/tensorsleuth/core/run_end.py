"""The end of a program, and its last activity."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tensorsleuth.core.catalog import Frame

_PYTHON_ERRORS = ("exception", "shape-mismatch", "dtype-mismatch")  # causes of a finding


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
    seconds: float | None = None  # since it began; None if unknown
    ended: bool = False  # whether it had ended: the thread had begun nothing since
    makes: str | None = None  # its expected output, from an earlier call, e.g. `float32 [8192, 8192]`
    bytes: int | None = None  # the size of that output
    inside: tuple[RunningOp, ...] = ()  # in a function: the ops in progress, likeliest first

    @property
    def innermost(self) -> RunningOp:
        """The op itself, if it is inside a function."""
        return self.inside[0].innermost if self.inside else self


@dataclass(frozen=True)
class ThreadStack:
    """The Python lines of a thread, innermost first."""

    current: bool  # the thread that crashed
    frames: tuple[Frame, ...]
    user: int  # the first frame of the program's own, -1 if there is none

    @property
    def frame(self) -> Frame | None:
        return self.frames[self.user] if self.user >= 0 else None

    @property
    def called_by_tensorflow(self) -> bool:
        """Return whether an op runs this Python function: tf.py_function, a generator of a dataset."""
        return any(frame.file.endswith("script_ops.py") for frame in self.frames)


@dataclass(frozen=True)
class LiveTensor:
    """A live tensor, or several made by one op."""

    name: str
    dtype: str
    shape: tuple[int, ...] | None
    bytes: int  # of all of them
    line: str | None
    seconds: float | None = None  # since the first was made
    step: int | None = None  # the step in which it was made
    count: int = 1


@dataclass(frozen=True)
class MemoryAtEnd:
    """The memory of a process at its end."""

    used: int | None  # by the process at its last sample, in bytes, without mapped files
    peak: int | None  # the most that it used; without samples, including mapped files
    limit: int | None  # of the container
    machine: int | None
    curve: tuple[tuple[float, int], ...] = ()  # (seconds before the end, bytes used), oldest first
    largest: tuple[LiveTensor, ...] = ()
    oldest: tuple[LiveTensor, ...] = ()  # the longest-lived of 64 kB and more
    fits: str | None = None  # of a training program: the batch, or sequence, that would have fit


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
    said: tuple[str, ...] = ()  # its last output, if its stderr is a file

    def to_json(self) -> dict[str, Any]:
        """Return the fields of `sleuth why --json`."""
        return asdict(self)

    @property
    def is_python_error(self) -> bool:
        """Return whether an exception ended it that says why: threads and memory have nothing to do with that."""
        return self.kind in _PYTHON_ERRORS
