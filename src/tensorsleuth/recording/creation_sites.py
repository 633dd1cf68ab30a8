"""Notes the expression of the program that made each layer, model, optimizer and loss."""

from __future__ import annotations

import os
import sys
from itertools import islice
from types import CodeType, FrameType
from typing import Any

from tensorsleuth.core.catalog import OPERATION
from tensorsleuth.recording.call_sites import is_user_file
from tensorsleuth.recording.tensorflow.autograph import is_generated, original_frame
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter

MAX_CREATIONS = 10_000  # a program that makes more has been understood
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
COPYING_METHODS = ("__get__", "_clone")  # of tf.function: an object has a copy of a method
NO_COLUMNS = (None, None, None)


class CreationSites:
    """Notes what is made, without holding it."""

    def __init__(self, catalog: CatalogWriter) -> None:
        self._catalog = catalog
        self._known: set[tuple[str, str, str, int]] = set()

    def note(self, kind: str | None, part: Any) -> None:
        """A part of the program has got its name, in the method whose caller is nearest on the stack."""
        frame = creating_frame(part) if kind is not None else None
        if frame is None or kind is None or len(self._known) >= MAX_CREATIONS:
            return
        place, name = expression_at(frame), _name(kind, part)
        key = kind, name or type(part).__name__, str(place["file"]), int(place["span"][0])
        if key not in self._known:
            self._known.add(key)
            self._catalog.creation({"kind": kind, "name": name, "type": type(part).__name__} | place)


def _name(kind: str, part: Any) -> str:
    """Return the name that the program sees; those of operations are counted up in each call, and nothing has them."""
    return "" if kind == OPERATION else str(getattr(part, "name", None) or getattr(part, "_name", ""))


def creating_frame(part: Any) -> FrameType | None:
    """Return the frame of the program that called for a part; the part's constructors, though the program's, do not
    count. None if another part made it for itself, as an attention layer makes its dense layers.
    """
    frame, constructors, level = _naming_method(), _constructors(type(part)), len(type(part).__mro__)
    while frame is not None:
        place = constructors.get(frame.f_code, -1)
        if 0 <= place < level:
            level = place
        elif is_user_file(frame.f_code.co_filename):
            return frame
        elif _is_of_another_part(frame, part):
            return None
        frame = frame.f_back
    return None


def _naming_method() -> FrameType | None:
    """Return the caller of the method that gave the part its name, which is the first frame that is not ours."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return frame.f_back if frame is not None else None


def _is_of_another_part(frame: FrameType, part: Any) -> bool:
    """Return whether it is a method of another layer or model; `compile` makes what its arguments name."""
    if frame.f_code.co_name in COPYING_METHODS:
        return True
    owner = frame.f_locals.get("self")
    if owner is None or owner is part or frame.f_code.co_name == "compile":
        return False
    return any(base.__name__ in ("Layer", "Operation") for base in type(owner).__mro__)


def _constructors(kind: type) -> dict[CodeType, int]:
    """Return the code of all `__init__` of a class and its bases, nearest first, also of what wraps them."""
    found: dict[CodeType, int] = {}
    for place, base in enumerate(kind.__mro__):
        method = vars(base).get("__init__")
        while method is not None:
            code = getattr(method, "__code__", None)
            if code is not None:
                found.setdefault(code, place)
            method = getattr(method, "__wrapped__", None)
    return found


def expression_at(frame: FrameType) -> dict[str, Any]:
    """Return the file, the function, and where the expression begins and ends that a frame is evaluating."""
    code = frame.f_code
    if is_generated(code.co_filename):
        found = original_frame((code.co_filename, frame.f_lineno, code.co_name))
        file, line, function = found or (code.co_filename, frame.f_lineno, code.co_name)
        return {"file": file, "function": function, "span": (line, *NO_COLUMNS)}
    return {"file": code.co_filename, "function": code.co_name, "span": _span(frame)}


def _span(frame: FrameType) -> tuple[int | None, ...]:
    """Return line, column, last line, last column; Python 3.10 only knows the line."""
    positions = getattr(frame.f_code, "co_positions", None)
    found = next(islice(positions(), frame.f_lasti // 2, None), None) if positions is not None else None
    if found is None or found[0] is None:
        return (frame.f_lineno, *NO_COLUMNS)
    line, end_line, column, end_column = found
    return line, column, end_line, end_column
