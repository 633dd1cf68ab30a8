"""The errors that users see as a sentence instead of a traceback."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tensorsleuth.core.finding import Finding
    from tensorsleuth.core.violation import Violation


class SleuthError(Exception):
    """An error with what went wrong, what was expected and one next step. The message is shown as it is."""

    ag_pass_through = True  # AutoGraph would replace it with an error of its own


class SettingsError(SleuthError, ValueError):
    """A wrong argument, or one that contradicts what is under way. TensorFlow raises ValueError for the same."""


class NumericsError(SleuthError, ArithmeticError):
    """A value that is not finite has reached something that matters. `findings` say where it was born, and why."""

    _keras_call_info_injected = True  # Keras would replace it with an error of its own

    def __init__(self, message: str, findings: tuple[Finding, ...] = ()) -> None:
        super().__init__(message)
        self.findings = findings

    def __str__(self) -> str:
        return str(self.args[0])


class ExpectationError(SleuthError, ValueError):
    """A tensor is not as `expect` was told. `violation` says what, where, and how many of its elements."""

    _keras_call_info_injected = True  # Keras would replace it with an error of its own

    def __init__(self, message: str, violation: Violation | None = None) -> None:
        super().__init__(message)
        self.violation = violation

    def __str__(self) -> str:
        return str(self.args[0])


ExpectationError.__module__ = "tensorsleuth"  # as users know it


class ExpectationWarning(UserWarning):
    """A broken expectation, as a warning if `on_violation` is "warn"."""


ExpectationWarning.__module__ = "tensorsleuth"


class TraceError(SleuthError):
    """A trace that cannot be read."""


class TraceVersionError(TraceError):
    """A file of a trace as another version of tensorsleuth writes it."""


class BreakError(SleuthError):
    """A condition that was to stop the program holds. `hit` says of which tensor, and what was in it."""

    _keras_call_info_injected = True  # Keras would replace it with an error of its own

    def __init__(self, message: str, hit: Any = None) -> None:
        super().__init__(message)
        self.hit = hit


BreakError.__module__ = "tensorsleuth"  # as users know it
