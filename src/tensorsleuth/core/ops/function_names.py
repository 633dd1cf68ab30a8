"""The names of traced functions, without what TensorFlow adds to them."""

from __future__ import annotations

import re

_TRACED_NAME = re.compile(r"^(?:__(?:inference|forward|backward)_)+(.+?)(?:_\d+)*$")


def program_name(function: str) -> str:
    """Return the program's name of a function: `train_step` for `__inference_train_step_12`."""
    found = _TRACED_NAME.match(function)
    return found[1] if found is not None else function
