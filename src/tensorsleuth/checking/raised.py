"""What is raised where TensorFlow is loaded: programs that expect its own assertions to raise catch it too."""

from __future__ import annotations

from typing import Any

from tensorsleuth.capture import tf
from tensorsleuth.model.errors import ExpectationError
from tensorsleuth.model.violation import Violation


class Raised(ExpectationError, tf.InvalidArgumentError):
    """An ExpectationError that is one of TensorFlow's errors as well."""

    def __init__(self, message: str, violation: Violation | None = None) -> None:
        tf.InvalidArgumentError.__init__(self, None, None, message)
        self.args = (message,)
        self.violation = violation

    def __reduce__(self) -> Any:  # it has to get from one process to another
        return ExpectationError, (str(self), self.violation)


Raised.__name__ = Raised.__qualname__ = ExpectationError.__name__
Raised.__module__ = "tensorsleuth"
