"""The message of an exception, without the stacks and arguments that AutoGraph and Keras put around it."""

from __future__ import annotations

import re

USER_CODE = "in user code:"
_ERROR_NAME = re.compile(r"^\w+(Error|Exception): ")
_USER_FRAME = re.compile(r'File "([^"]+)", line (\d+), in .*\*')
_EAGER_MARK = re.compile(r"^\{\{function_node __wrapped__[^}]*\}\}\s*")
_INFERRED = re.compile(r"Could not automatically infer the output shape.*?Error encountered:\s*", re.DOTALL)
_MET_SHAPES = re.compile(
    r"(?P<why>.+?) for '\{\{node [^}]*\}\} = (?P<op>\w+).* with input shapes: (?P<shapes>\[.*?\](?:, \[.*?\])*)"
)
_KERAS_CALL = re.compile(
    r"Exception encountered when calling [^\n]+?\.\s+(?:\x1b\[1m(?P<bold>.*?)\x1b\[0m.*|"
    r"(?P<plain>.*?)\s+Call arguments received by .*)",
    re.DOTALL,
)
_SHAPES = re.compile(r"[Ss]hapes?\b|[Ii]ncompatible|[Dd]imensions?\b|\brank\b|output size would be zero")


def is_about_shapes(message: str) -> bool:
    """Return whether an exception says that shapes do not fit."""
    return _SHAPES.search(message) is not None


def plain_message(message: str) -> str:
    """Return what an exception says, without AutoGraph's stack in front; of shapes, first which they are."""
    if message.lstrip("'\"").startswith(USER_CODE) and "\n" not in message:  # a KeyError writes its text as a literal
        message = message.strip("'\"").replace("\\n", "\n").replace("\\'", "'")
    message = _INFERRED.sub("", _KERAS_CALL.sub(_called, _EAGER_MARK.sub("", message)))
    stack, mark, last = message.rpartition("\n\n") if message.lstrip().startswith(USER_CODE) else ("", "", message)
    told = " ".join(_ERROR_NAME.sub("", last.strip() if mark else message).split())
    shapes = _MET_SHAPES.match(told)
    if shapes is not None:
        told = f"{shapes['op']} got the shapes {shapes['shapes']}. {shapes['why']}"
    called = [frame for frame in _USER_FRAME.findall(stack)[:-1] if "site-packages" not in frame[0]]
    return f"{told.rstrip('.')} (called from {called[-1][0]}:{called[-1][1]})" if called else told


def _called(found: re.Match[str]) -> str:
    """Return what a layer raised, without the words that Keras puts around it."""
    return str(found["bold"] or found["plain"] or "").strip()
