"""Watches what `sleuth run` was told to, in the program that it started."""

from __future__ import annotations

import json
import os

from tensorsleuth.live.watch.api import watch


def start() -> None:
    """SLEUTH_WATCHES holds the arguments of each."""
    for arguments in json.loads(os.environ["SLEUTH_WATCHES"]):
        watch(**arguments)
