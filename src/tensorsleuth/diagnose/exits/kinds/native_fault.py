"""Native code that the processor stopped: invalid memory, a bus error, an illegal instruction."""

from __future__ import annotations

from dataclasses import dataclass

from tensorsleuth.diagnose.exits.process_exit import ExitExplanation, ProcessExit
from tensorsleuth.diagnose.exits.wording import describe_activity, describe_running_op


@dataclass(frozen=True)
class Fault:
    """A signal that the processor raises."""

    cause: str
    words: str
    fix: str


_NATIVE_CODE_FIX = (
    "the fault is in native code, not in Python: check its arguments (shapes, dtypes, indices, lifetimes), "
    "and upgrade the package that contains it"
)
FAULTS = {
    "SIGSEGV": Fault("segfault", "segmentation fault (SIGSEGV): native code accessed invalid memory", _NATIVE_CODE_FIX),
    "SIGBUS": Fault(
        "bus-error",
        "bus error (SIGBUS): a mapped file was cut short, or shared memory is full",
        "look at files that are mapped there (np.memmap), and at the room in /dev/shm (docker run --shm-size)",
    ),
    "SIGFPE": Fault(
        "arithmetic-fault", "arithmetic fault (SIGFPE): native code divided an integer by 0", _NATIVE_CODE_FIX
    ),
    "SIGILL": Fault(
        "illegal-instruction",
        "illegal instruction (SIGILL): this processor lacks an instruction that the code was built for",
        "install a build for this processor; TensorFlow's wheels need AVX",
    ),
}


def match(process_exit: ProcessExit) -> ExitExplanation | None:
    fault = FAULTS.get(process_exit.signal or "")
    if fault is None:
        return None
    frame = process_exit.crash_frame
    if frame is not None:
        where = (
            f"{frame.file}:{frame.line} in {frame.function} called "
            f"it{describe_running_op(process_exit.running_op, frame)}"
        )
    elif process_exit.recording_closed:
        where = "The program had ended: Python was shutting down"
    else:
        where = f"No Python ran on that thread. {describe_activity(process_exit)}"
    return ExitExplanation(fault.cause, 0.9, f"Crashed: {fault.words}. {where}.", fault.fix, frame)
