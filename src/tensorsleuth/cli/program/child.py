"""The watched program as a child process. It gets the signals meant for it, and this process ends as the child did."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NoReturn

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.exit_status import ExitStatus

FORWARDED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM)


@contextmanager
def hold_signals() -> Iterator[set[int]]:
    """Hold back the signals that `wait` handles; yield the earlier mask, which the child gets.

    They are held from before the child exists until its end is written, so that none is lost in between.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # if it were ignored, there would be no exit code to read
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _handled_signals())
    try:
        yield before
    finally:
        while signal.sigtimedwait(_handled_signals(), 0):  # they were meant for the child, which has ended
            pass
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def threads_without_signals() -> Iterator[None]:
    """Make threads that start here leave signals to the main thread, which holds them back for the child."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _handled_signals())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def spawn(command: Sequence[str], environment: Mapping[str, str], mask: set[int]) -> int:
    """Start a program as a shell would: same process group, files and signals. Returns its pid."""
    ours = (signal.SIGPIPE, signal.SIGXFSZ)  # Python ignores these two; the child starts with the defaults
    try:
        return os.posix_spawn(command[0], list(command), environment, setsigmask=mask, setsigdef=ours)
    except OSError as error:
        raise SleuthError(f"cannot start {command[0]}: {error.strerror}.") from error


def wait(pid: int, every: float | None = None, meanwhile: Callable[[], None] = lambda: None) -> ExitStatus:
    """Wait for the child to end, and pass on the signals that were sent to this process alone.

    `meanwhile` is called every `every` seconds.
    """
    began = looked = time.monotonic()
    while True:
        ended, status, used = os.wait4(pid, os.WNOHANG)
        if ended:
            return ExitStatus(os.waitstatus_to_exitcode(status), time.monotonic() - began, used.ru_maxrss * 1024)
        received = _next_signal(None if every is None else looked + every - time.monotonic())
        if received is None:
            meanwhile()
            looked = time.monotonic()
        elif received.si_signo != signal.SIGCHLD and _meant_for_child(received, pid):
            os.kill(pid, received.si_signo)  # the child is not reaped yet, so the pid is still its own


def _next_signal(timeout: float | None) -> signal.struct_siginfo | None:
    """Return the next signal that we handle, or None after the timeout."""
    return (
        signal.sigwaitinfo(_handled_signals())
        if timeout is None
        else signal.sigtimedwait(_handled_signals(), max(timeout, 0.0))
    )


def end_as(exit_status: ExitStatus) -> NoReturn:
    """End as the child did, so that the shell sees the same end."""
    if exit_status.status >= 0:
        sys.exit(exit_status.status)
    number = -exit_status.status
    sys.stdout.flush()
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    sys.exit(128 + number)


def _handled_signals() -> list[int]:
    """Return the signals to handle. An ignored one (nohup, a background job of a script) stays ignored."""
    forwarded = [number for number in FORWARDED if signal.getsignal(number) != signal.SIG_IGN]
    return [*forwarded, signal.SIGCHLD]


def _meant_for_child(received: signal.struct_siginfo, child: int) -> bool:
    """Return whether the child has not received this signal yet.

    The terminal (Ctrl-C, Ctrl-\\, hanging up) signals the whole foreground process group, so the child has it already.
    A second SIGINT would interrupt the clean-up after the first. Such a signal comes from the kernel (si_code > 0). A
    signal from kill() has si_code <= 0 and came to us alone. sudo uses the same test. It also works for `kill -INT`
    from another window and for a pipe as stdin, where a question about the terminal would fail. A signal that the
    child itself sends to its whole group is not sent back to it.
    """
    return received.si_code <= 0 and received.si_pid != child
