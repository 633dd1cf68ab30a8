"""The program's name for a tensor that it feeds to eager code, found in the functions on the stack.

The names are those of a traced function, such as `train_step/labels` or `train_step/batch_token_ids`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Mapping
from types import FrameType
from typing import Any

from tensorsleuth.recording.call_sites import is_user_file
from tensorsleuth.recording.keras import internals as keras

_LAYER_METHODS = frozenset(["call", "__call__", "build"])
_HELD_BY_FRAME = sys.version_info < (3, 13)  # the frame keeps the dict `f_locals`, and so every value in it


def input_name(frame: FrameType | None, tensor: Any) -> str | None:
    """Return the name of an op's input, or None if no variable of the program holds it."""
    fed = keras.feed_name(frame, lambda data: _path(data, tensor, "/"))
    if fed is not None:
        return fed
    frames: list[FrameType] = []
    while frame is not None:
        if is_user_file(frame.f_code.co_filename) and frame.f_code.co_name not in _LAYER_METHODS:
            frames.insert(0, frame)
        frame = frame.f_back
    found = (_name_in_frame(one, tensor, arguments) for arguments in (True, False) for one in frames)
    return next((name for name in found if name is not None), None)


def _name_in_frame(frame: FrameType, tensor: Any, arguments: bool) -> str | None:
    code, held = frame.f_code, frame.f_locals
    names: Iterable[str] = code.co_varnames[: code.co_argcount] if arguments else list(held)
    found = ((name, _path(held.get(name), tensor, "_")) for name in names)
    path = next(("_".join(filter(None, (name, within))) for name, within in found if within is not None), None)
    if _HELD_BY_FRAME and code.co_flags & inspect.CO_OPTIMIZED and sys.getrefcount(held) == 3:
        held.clear()  # only the frame and we use it, and it must not keep the program's tensors alive
    if path is None:
        return None
    return path if code.co_name == "<module>" else f"{code.co_name}/{path}"


def _path(value: Any, tensor: Any, between: str, depth: int = 0) -> str | None:
    """Return a tensor's path in a value; "" if it is the value itself, None if it is not there."""
    if value is tensor:
        return ""
    if isinstance(value, Mapping):
        items: Iterable[tuple[Any, Any]] = list(value.items())
    else:
        items = enumerate(value) if isinstance(value, tuple | list) and len(value) <= 64 else ()
    for key, item in items if depth < 3 else ():
        within = _path(item, tensor, between, depth + 1)
        if within is not None:
            return between.join(filter(None, (str(key), within)))
    return None
