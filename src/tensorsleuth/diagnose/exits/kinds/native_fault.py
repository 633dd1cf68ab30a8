"""Native code did what the processor does not let it do."""

from __future__ import annotations

from dataclasses import dataclass

from tensorsleuth.diagnose.exits.end import End, Told
from tensorsleuth.diagnose.exits.wording import also_running, was_doing


@dataclass(frozen=True)
class Fault:
    """A signal of the processor's."""

    cause: str
    words: str
    fix: str


_HANDED = (
    "the fault is in native code, not in Python: check its arguments (shapes, dtypes, indices, lifetimes), "
    "and upgrade the package that contains it"
)
FAULTS = {
    "SIGSEGV": Fault("segfault", "segmentation fault (SIGSEGV): native code accessed invalid memory", _HANDED),
    "SIGBUS": Fault(
        "bus-error",
        "bus error (SIGBUS): a mapped file was cut short, or shared memory is full",
        "look at files that are mapped there (np.memmap), and at the room in /dev/shm (docker run --shm-size)",
    ),
    "SIGFPE": Fault("arithmetic-fault", "arithmetic fault (SIGFPE): native code divided an integer by 0", _HANDED),
    "SIGILL": Fault(
        "illegal-instruction",
        "illegal instruction (SIGILL): this processor lacks an instruction that the code was built for",
        "install a build for this processor; TensorFlow's wheels need AVX",
    ),
}


def match(end: End) -> Told | None:
    fault = FAULTS.get(end.signal or "")
    if fault is None:
        return None
    frame = end.crashed_at
    if frame is not None:
        where = f"{frame.file}:{frame.line} in {frame.function} called it{also_running(end.doing, frame)}"
    elif end.closed:
        where = "The program had ended: Python was shutting down"
    else:
        where = f"No Python ran on that thread. {was_doing(end)}"
    return Told(fault.cause, 0.9, f"Crashed: {fault.words}. {where}.", fault.fix, frame)
