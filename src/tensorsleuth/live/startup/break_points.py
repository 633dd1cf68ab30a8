"""Sets the break points of `sleuth run` in the program that it started."""

from __future__ import annotations

import json
import os

from tensorsleuth.live.breakpoints.api import break_when


def start() -> None:
    """Set each break point in SLEUTH_BREAKS, which holds their arguments."""
    for arguments in json.loads(os.environ["SLEUTH_BREAKS"]):
        break_when(**arguments)
