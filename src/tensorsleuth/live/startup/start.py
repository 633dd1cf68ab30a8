"""Starts the recorder in a program of `sleuth run`, once TensorFlow has been imported."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.recording.api import start_injected
from tensorsleuth.recording.harmless import complain
from tensorsleuth.recording.settings import make_settings


def start() -> None:
    """Record into SLEUTH_RUN with SLEUTH_SETTINGS. An error never breaks the program."""
    try:
        run = Path(os.environ["SLEUTH_RUN"])
        wanted = json.loads(os.environ.get("SLEUTH_SETTINGS") or "{}")
        start_injected(run, make_settings(run.parent, **wanted))
        if os.environ.get("SLEUTH_BREAKS"):
            from tensorsleuth.live.startup import break_points

            break_points.start()
        if os.environ.get("SLEUTH_WATCHES"):
            from tensorsleuth.live.startup import watches

            watches.start()
    except SleuthError as error:
        complain(f"not recording: {error}")
