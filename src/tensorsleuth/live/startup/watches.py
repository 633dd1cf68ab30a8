"""Sets the watches of `sleuth run` in the program that it started."""

from __future__ import annotations

import json
import os

from tensorsleuth.live.watch.api import watch


def start() -> None:
    """Set each watch in SLEUTH_WATCHES, which holds their arguments."""
    for arguments in json.loads(os.environ["SLEUTH_WATCHES"]):
        watch(**arguments)
