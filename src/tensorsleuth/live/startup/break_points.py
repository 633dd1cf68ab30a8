"""Sets the break points that `sleuth run` was given, in the program that it started."""

from __future__ import annotations

import json
import os

from tensorsleuth.live.breakpoints.api import break_when


def start() -> None:
    """SLEUTH_BREAKS holds the arguments of each."""
    for arguments in json.loads(os.environ["SLEUTH_BREAKS"]):
        break_when(**arguments)
