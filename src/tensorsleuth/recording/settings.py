"""The settings of a recording, and their checks."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from tensorsleuth.core.dtypes import DTYPES
from tensorsleuth.core.errors import SettingsError
from tensorsleuth.core.modes import DEFAULT_MODE, Mode

DtypeFilter = Sequence[Any] | Callable[[Any], bool] | None
DEFAULT_INSIDE_EVERY = 100
PROBE_KINDS = ("auto", "host", "device", "numpy")


@dataclass(frozen=True)
class Settings:
    """The settings of a recording. Two recordings with equal settings are the same recording."""

    logdir: str
    mode: Mode = DEFAULT_MODE
    circular_buffer_size: int | None = None
    op_regex: str | None = None
    tensor_dtypes: frozenset[str] | Callable[[Any], bool] | None = None
    probe: str = "auto"
    inside_every: int = DEFAULT_INSIDE_EVERY  # sample the model every so many steps; 0 for never

    @property
    def sees_all_values(self) -> bool:
        """Return whether the values of all ops are looked at."""
        is_partial = self.op_regex is not None or self.tensor_dtypes is not None
        return Mode.CURT_HEALTH <= self.mode <= Mode.FULL_TENSOR and not is_partial

    def differences(self, other: Settings) -> list[str]:
        """Return the settings that differ, as `name: mine, not theirs`."""
        return [
            f"{field.name} is {getattr(self, field.name)!r}, not {getattr(other, field.name)!r}"
            for field in fields(self)
            if getattr(self, field.name) != getattr(other, field.name)
        ]

    def describe(self) -> dict[str, Any]:
        """Return the settings as JSON-compatible values."""
        described = asdict(self) | {"mode": self.mode.name}
        if callable(self.tensor_dtypes):
            described["tensor_dtypes"] = repr(self.tensor_dtypes)
        elif self.tensor_dtypes is not None:
            described["tensor_dtypes"] = sorted(self.tensor_dtypes)
        return described


def make_settings(
    logdir: str | os.PathLike[str],
    mode: str | Mode = DEFAULT_MODE,
    circular_buffer_size: int | None = None,
    op_regex: str | None = None,
    tensor_dtypes: DtypeFilter = None,
    probe: str | None = None,
    inside_every: int | None = None,
) -> Settings:
    """Check the user's arguments. Raise SettingsError if one is wrong."""
    chosen = probe or os.environ.get("SLEUTH_PROBE", "auto")
    if chosen not in PROBE_KINDS:
        raise SettingsError(f"probe is {chosen!r}; it must be one of {', '.join(PROBE_KINDS)}.")
    if circular_buffer_size is not None and not isinstance(circular_buffer_size, int):
        raise SettingsError(f"circular_buffer_size is {circular_buffer_size!r}; it must be an integer or None.")
    return Settings(
        os.path.abspath(logdir),
        _mode(mode),
        circular_buffer_size,
        _regex(op_regex),
        _dtypes(tensor_dtypes),
        chosen,
        _inside_every(inside_every),
    )


def _inside_every(every: int | None) -> int:
    if every is None:
        text = os.environ.get("SLEUTH_INSIDE_EVERY", "").strip() or str(DEFAULT_INSIDE_EVERY)
        every = int(text) if text.isdecimal() else -1
        given = f"SLEUTH_INSIDE_EVERY is {text!r}"
    else:
        given = f"inside_every is {every!r}"
    if not isinstance(every, int) or isinstance(every, bool) or every < 0:
        raise SettingsError(f"{given}; it must be a number of steps, such as 100, or 0 for never.")
    return every


def _mode(mode: str | Mode) -> Mode:
    try:
        return mode if isinstance(mode, Mode) else Mode[str(mode).upper()]
    except KeyError:
        names = ", ".join(m.name for m in Mode)
        raise SettingsError(f"There is no mode {mode!r}; choose one of {names}.") from None


def _regex(pattern: str | None) -> str | None:
    try:
        re.compile(pattern or "")
    except (re.error, TypeError) as error:
        raise SettingsError(f"op_regex {pattern!r} is not a regular expression: {error}.") from None
    return pattern


def _dtypes(wanted: DtypeFilter) -> frozenset[str] | Callable[[Any], bool] | None:
    if wanted is None or callable(wanted):
        return wanted
    if isinstance(wanted, str) or not isinstance(wanted, Sequence):
        raise SettingsError(f"tensor_dtypes is {wanted!r}; it must be a list of dtypes, or a function of a dtype.")
    names = frozenset(str(getattr(dtype, "name", dtype)).lower() for dtype in wanted)
    known = {dtype.name for dtype in DTYPES.values()}
    if unknown := sorted(names - known):
        raise SettingsError(
            f"tensor_dtypes has an unknown dtype {unknown[0]!r}; TensorFlow's are {', '.join(sorted(known))}."
        )
    return names
