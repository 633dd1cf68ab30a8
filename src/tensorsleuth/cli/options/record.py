"""Recording options of a command, checked before any program starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from tensorsleuth.core.modes import DEFAULT_MODE, Mode

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--mode",
        default=DEFAULT_MODE.name,
        show_default=True,
        help=f"How much to record of every tensor: {', '.join(mode.name for mode in Mode)}.",
    ),
    click.option("--op-regex", metavar="REGEX", help="Only ops whose type matches, such as '(MatMul|Log)'."),
    click.option("--tensor-dtypes", metavar="LIST", help="Only tensors of these dtypes, such as float32,float16."),
    click.option(
        "--circular-buffer-size",
        type=int,
        metavar="N",
        help="Keep the last N tensors; 0 keeps all of them.  [default: as many as fit the usual size]",
    ),
    click.option(
        "--inside-every",
        type=click.IntRange(min=0),
        metavar="N",
        help="Sample layers, gradients and attention every N training steps; 0: never.  [default: 100]",
    ),
)


def record_options(function: F) -> F:
    """Add --mode, --op-regex, --tensor-dtypes, --circular-buffer-size, --inside-every, named as in record()."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def record_settings(logdir: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options as the recorder reads them from SLEUTH_SETTINGS. Raises the errors that it would raise."""
    from tensorsleuth.recording.settings import make_settings

    listed = options["tensor_dtypes"]
    dtypes = None if listed is None else [name.strip() for name in listed.split(",") if name.strip()]
    described = make_settings(logdir, **{**options, "tensor_dtypes": dtypes}).describe()
    return {name: described[name] for name in options}
