"""The errors that users see as a sentence instead of a traceback."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tensorsleuth.core.finding import Finding
    from tensorsleuth.core.violation import Violation


class SleuthError(Exception):
    """An error that says what went wrong, what was expected and one next step. Its message is shown unchanged."""

    ag_pass_through = True  # else AutoGraph would replace it with its own error


class SettingsError(SleuthError, ValueError):
    """A wrong argument, or one that contradicts the current recording. Like TensorFlow's, it is a ValueError."""


class NumericsError(SleuthError, ArithmeticError):
    """A NaN or infinite value has reached something that matters. `findings` say which op made it, and why."""

    _keras_call_info_injected = True  # else Keras would replace it with its own error

    def __init__(self, message: str, findings: tuple[Finding, ...] = ()) -> None:
        super().__init__(message)
        self.findings = findings

    def __str__(self) -> str:
        return str(self.args[0])


class ExpectationError(SleuthError, ValueError):
    """A tensor breaks an expectation of `expect`. `violation` says which one, where, and how many elements break it."""

    _keras_call_info_injected = True  # else Keras would replace it with its own error

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
    """A file of a trace has the format of another version of tensorsleuth."""


class BreakError(SleuthError):
    """A stopping break point was hit. `hit` has the tensor and its statistics."""

    _keras_call_info_injected = True  # else Keras would replace it with its own error

    def __init__(self, message: str, hit: Any = None) -> None:
        super().__init__(message)
        self.hit = hit


BreakError.__module__ = "tensorsleuth"  # as users know it
