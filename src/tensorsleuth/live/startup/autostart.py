"""Starts recording as soon as a program has imported TensorFlow. Until then it costs nothing.

inject/sitecustomize.py loads this file by its path at the start of every watched Python, before the program. The
package may not be installed there, so this file imports only the standard library, and as little of it as possible.
"""

from __future__ import annotations

import os
import sys

STACKS_SIGNAL = 59  # SIGRTMAX - 5, an unused signal: `sleuth run` sends it to a program that seems to hang

TYPE_CHECKING = False  # a stand-in for typing's constant, since importing typing takes time in every Python of a run
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class TensorFlowHook:
    """A finder on sys.meta_path that finds no modules itself, and calls back once TensorFlow has been imported."""

    def __init__(self, imported: Callable[[], None]) -> None:
        self._imported = imported
        self._looking = False

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "tensorflow" or self._looking:
            return None
        self._looking = True  # another hook may search the whole of sys.meta_path again, and call us
        try:
            spec = self._ask_the_others(name, path, target)
        finally:
            self._looking = False
        if spec is not None:
            keep_faults()
            self._follow(spec)
        return spec

    def _follow(self, spec: ModuleSpec) -> None:
        try:
            call_after(spec.loader, spec.name, self._done)
        except Exception as error:  # a custom loader
            complain(f"not recording: cannot detect TensorFlow's import: {error!r}")

    def _ask_the_others(self, name: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
        others = (finder for finder in list(sys.meta_path) if finder is not self)
        specs = (finder.find_spec(name, path, target) for finder in others if hasattr(finder, "find_spec"))
        return next((spec for spec in specs if spec is not None), None)

    def _done(self) -> None:
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]
        self._imported()


def call_after(loader: object, name: str, done: Callable[[], None]) -> None:
    """Call `done` once this loader has executed the module `name`. The loader is restored by then."""
    execute = getattr(loader, "exec_module")  # noqa: B009 (for mypy, a Loader has no such method)

    def exec_module(module: ModuleType) -> None:
        if module.__name__ == name:
            vars(loader).pop("exec_module", None)
        execute(module)
        if module.__name__ == name:
            done()

    # If TensorFlow's import fails, Python cuts importlib's frames from the traceback, and by this file name ours too.
    hidden = exec_module.__code__.replace(co_filename="<frozen importlib._bootstrap_external>")
    exec_module.__code__ = hidden
    setattr(loader, "exec_module", exec_module)  # noqa: B010


def arm(package_home: str) -> None:
    """Record from the moment when TensorFlow is imported; `package_home` holds the folder tensorsleuth/."""
    sys.meta_path.insert(0, TensorFlowHook(lambda: start(package_home)))


def start(package_home: str) -> None:
    """Start recording. An error costs one line on stderr and never the program.

    Our imports must not trigger a garbage collection, which would look through all objects of TensorFlow.
    """
    import gc

    was_on = gc.isenabled()
    gc.disable()
    try:
        leave_mark()
        start_recorder(package_home)
    except Exception as error:
        complain(f"not recording: {type(error).__name__}: {error}")
    finally:
        if was_on:
            gc.enable()


def keep_faults() -> None:
    """Have Python write the line of each thread into a file of the run after a crash or the signal WHERE.

    A program may still use faulthandler itself, before or after this call.
    """
    try:
        import faulthandler
        import signal

        folder = os.path.join(os.environ["SLEUTH_RUN"], "faults")
        os.makedirs(folder, exist_ok=True)
        file = os.open(os.path.join(folder, str(os.getpid())), os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
        file = high_descriptor(file)
        if not faulthandler.is_enabled():
            faulthandler.enable(file)
        if signal.getsignal(STACKS_SIGNAL) == signal.SIG_DFL:
            faulthandler.register(STACKS_SIGNAL, file)
    except Exception as error:
        complain(f"a crash will be reported without its stack: {error!r}")


def high_descriptor(file: int) -> int:
    """Move a file to a high descriptor, which a program leaves alone even if it closes and reopens the low ones."""
    import fcntl
    import resource

    most = min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 1024)
    try:
        high = fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, max(most - 24, 10))
    except OSError:
        return file
    os.close(file)
    return high


def leave_mark() -> None:
    """Leave a file that tells the parent that TensorFlow was imported, even if recording could not start."""
    with open(os.path.join(os.environ["SLEUTH_RUN"], "tensorflow.seen"), "a"):
        pass


def start_recorder(package_home: str) -> None:
    """Import the recorder, from the parent's source tree if it is not installed here."""
    import importlib.util

    found = importlib.util.find_spec("tensorsleuth")
    borrowed = found is None or found.origin is None  # without an origin it is only a folder of that name
    if borrowed:
        sys.path.append(package_home)
    try:
        from tensorsleuth.live.startup import start as inject

        inject.start()
    finally:
        if borrowed:
            sys.path.remove(package_home)


def complain(message: str) -> None:
    try:  # noqa: SIM105 (contextlib would be one more import)
        sys.stderr.write(f"tensorsleuth: {message}\n")
    except Exception:
        pass  # stderr is closed or None, so the message has no reader
