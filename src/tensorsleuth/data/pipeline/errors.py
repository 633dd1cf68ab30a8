"""Errors from an iterator if an element breaks the schema."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from tensorsleuth.core.errors import ExpectationError
from tensorsleuth.core.violation import Violation
from tensorsleuth.data.report import DataError


class ElementError(DataError, ExpectationError):
    """A DataError that is also an ExpectationError, like the errors of `expect`."""

    def __init__(self, message: str, violations: Sequence[Violation] = ()) -> None:
        ExpectationError.__init__(self, message, violations[0] if violations else None)
        self.report, self.violations = None, tuple(violations)


@cache
def _tensorflows() -> type[ElementError]:
    from tensorsleuth.recording.violations.error_types import as_tensorflow_error

    kind = as_tensorflow_error(ElementError)
    kind.__name__ = kind.__qualname__ = DataError.__name__
    return kind


def element_error(found: Sequence[Violation]) -> ElementError:
    """Return an error that is also one of TensorFlow's."""
    return _tensorflows()("\n".join(one.message for one in found), found)
