"""What comes out of an iterator whose element breaks the schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorsleuth.capture import tf
from tensorsleuth.data.report import DataError
from tensorsleuth.model.errors import ExpectationError
from tensorsleuth.model.violation import Violation


class ElementError(DataError, ExpectationError, tf.InvalidArgumentError):
    """A DataError that is also what `expect` raises, and so one of TensorFlow's errors as well."""

    def __init__(self, message: str, violations: Sequence[Violation] = ()) -> None:
        tf.InvalidArgumentError.__init__(self, None, None, message)
        self.args = (message,)
        self.violation = violations[0] if violations else None
        self.report, self.violations = None, tuple(violations)

    def __reduce__(self) -> Any:  # it has to get from one process to another
        return _plain, (str(self), self.violations)


def _plain(message: str, violations: Sequence[Violation]) -> DataError:
    error = DataError(message)
    error.violations = tuple(violations)
    return error


ElementError.__name__ = ElementError.__qualname__ = DataError.__name__
ElementError.__module__ = "tensorsleuth"


def element_error(found: Sequence[Violation]) -> ElementError:
    return ElementError("\n".join(one.told for one in found), found)
