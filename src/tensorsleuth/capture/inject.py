"""Called in a program that `sleuth run` started, once TensorFlow has been imported."""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path

from tensorsleuth.capture.api import start_injected
from tensorsleuth.capture.complaint import complain
from tensorsleuth.capture.settings import make_settings
from tensorsleuth.model.errors import SleuthError

# By name: they stand above us, and most programs do without.
RIDERS = {"SLEUTH_BREAKS": "tensorsleuth.breaking.injected", "SLEUTH_WATCHES": "tensorsleuth.watching.injected"}


def start() -> None:
    """Record into SLEUTH_RUN, with SLEUTH_SETTINGS; never breaks the program."""
    try:
        run = Path(os.environ["SLEUTH_RUN"])
        wanted = json.loads(os.environ.get("SLEUTH_SETTINGS") or "{}")
        start_injected(run, make_settings(run.parent, **wanted))
        for setting, module in RIDERS.items():
            if os.environ.get(setting):
                importlib.import_module(module).start()
    except SleuthError as error:
        complain(f"not recording: {error}")
