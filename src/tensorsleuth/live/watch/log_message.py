"""The text of a log call: Python's format, with tensors as fields."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tensorsleuth.core.errors import SleuthError


class FormattedTensor:
    """A tensor's value for format(). The format of an array applies to each element."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.plain = _plain(array.item()) if array.ndim == 0 else array

    def __format__(self, spec: str) -> str:
        if self.array.ndim == 0 or not spec:
            return format(self.plain, spec) if self.array.ndim == 0 else str(self)
        return np.array2string(self.array, formatter={"all": lambda one: format(_plain(one), spec)})

    def __str__(self) -> str:
        return str(self.plain)

    def __repr__(self) -> str:
        return repr(self.plain)

    def __getitem__(self, at: Any) -> Any:
        return FormattedTensor(
            np.asarray(self.array[int(at) if isinstance(at, str) and at.lstrip("-").isdigit() else at])
        )

    def __getattr__(self, name: str) -> Any:  # {x.shape}
        return getattr(self.array, name)


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def check_fields(text: str, args: Sequence[Any], fields: Mapping[str, Any]) -> None:
    """Raise SleuthError if the text names a field that was not passed."""
    if not isinstance(text, str):
        raise SleuthError(f"log({text!r}): the message must be a string; write log('{{x}}', x=x) for a tensor.")
    numbered = 0
    try:
        for _, name, _, _ in string.Formatter().parse(text):
            if name is None:
                continue
            first = str(name).partition(".")[0].partition("[")[0]
            at = numbered if not first else int(first) if first.isdigit() else None
            numbered += not first
            if (at is not None and at >= len(args)) or (at is None and first not in fields):
                given = ", ".join([*map(str, range(len(args))), *fields]) or "none"
                asked = first or f"{at}"
                raise SleuthError(f"log({text!r}) has the field {asked!r}, but the values given are: {given}.")
    except ValueError as error:
        raise SleuthError(f"log({text!r}) is not a format string: {error}. Write {{{{ for a brace.") from None


def render(text: str, args: Sequence[Any], fields: Mapping[str, Any]) -> str:
    """Return the message. If a format does not fit its value, return the unformatted text followed by the values."""
    try:
        return text.format(*args, **fields)
    except Exception as error:
        values = ", ".join([*map(str, args), *(f"{name}={value}" for name, value in fields.items())])
        return f"{text} ({values}; {type(error).__name__}: {error})"
