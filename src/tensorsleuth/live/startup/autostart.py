"""Starts recording at the moment a program has imported TensorFlow; until then it costs nothing.

Loaded by its path at the start of every watched Python (inject/sitecustomize.py), before the program and
maybe where this package is not installed: so it imports the standard library only, and as little as it can.
"""

from __future__ import annotations

import os
import sys

STACKS_SIGNAL = (
    59  # SIGRTMAX - 5, which nobody uses: `sleuth run` sends it to a program in which nothing happens any more
)

TYPE_CHECKING = False  # typing's own is not worth its import in every Python of a run
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class TensorFlowHook:
    """A finder on sys.meta_path that finds nothing itself, and tells when TensorFlow has been imported."""

    def __init__(self, imported: Callable[[], None]) -> None:
        self._imported = imported
        self._looking = False

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "tensorflow" or self._looking:
            return None
        self._looking = True  # another hook may ask the whole of sys.meta_path again, us included
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
        except Exception as error:  # a loader unlike Python's own
            complain(f"not recording: cannot tell when TensorFlow is imported: {error!r}")

    def _ask_the_others(self, name: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
        others = (finder for finder in list(sys.meta_path) if finder is not self)
        specs = (finder.find_spec(name, path, target) for finder in others if hasattr(finder, "find_spec"))
        return next((spec for spec in specs if spec is not None), None)

    def _done(self) -> None:
        sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]
        self._imported()


def call_after(loader: object, name: str, done: Callable[[], None]) -> None:
    """Call `done` once this loader has executed the module `name`; the loader is as before by then."""
    execute = getattr(loader, "exec_module")  # noqa: B009 (mypy: Loader does not promise it)

    def exec_module(module: ModuleType) -> None:
        if module.__name__ == name:
            vars(loader).pop("exec_module", None)
        execute(module)
        if module.__name__ == name:
            done()

    # If TensorFlow's import fails, Python cuts importlib's frames out of the traceback, and so this one.
    hidden = exec_module.__code__.replace(co_filename="<frozen importlib._bootstrap_external>")
    exec_module.__code__ = hidden
    setattr(loader, "exec_module", exec_module)  # noqa: B010


def arm(package_home: str) -> None:
    """Record from the moment TensorFlow is imported; `package_home` holds the folder tensorsleuth/."""
    sys.meta_path.insert(0, TensorFlowHook(lambda: start(package_home)))


def start(package_home: str) -> None:
    """Start recording; whatever goes wrong costs one line on stderr, never the program."""
    try:
        leave_mark()
        start_recorder(package_home)
    except Exception as error:
        complain(f"not recording: {type(error).__name__}: {error}")


def keep_faults() -> None:
    """Have Python write down where each thread is should it crash, or be asked with WHERE, into a file of the run.

    A program that has its own use for faulthandler, before or later, has it as without us.
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
    """Return the file under a descriptor that programs do not use, even if they close all and reopen."""
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
    """Let the parent tell "TensorFlow was never imported" from "recording could not start"."""
    with open(os.path.join(os.environ["SLEUTH_RUN"], "tensorflow.seen"), "a"):
        pass


def start_recorder(package_home: str) -> None:
    """Import the recorder, from the source tree of the parent where it is not installed here."""
    import importlib.util

    found = importlib.util.find_spec("tensorsleuth")
    borrowed = found is None or found.origin is None  # no origin: just a folder of that name
    if borrowed:
        sys.path.append(package_home)
    try:
        from tensorsleuth.live.startup import start as inject

        inject.start()
    finally:
        if borrowed:
            sys.path.remove(package_home)


def complain(message: str) -> None:
    try:  # noqa: SIM105 (contextlib is one more import)
        sys.stderr.write(f"tensorsleuth: {message}\n")
    except Exception:
        pass  # stderr may be closed or None: then there is nobody to tell
