"""Asks a run as the server does."""

from __future__ import annotations

import json
from typing import Any

from tensorsleuth.ui.web.export.local_client import match_question
from tensorsleuth.ui.web.run.open_run import OpenRun


def ask(opened: OpenRun, path: str, **parameters: object) -> Any:
    """The answer as the page gets it: what JSON cannot hold raises."""
    question, named = match_question(path)
    asked = {name.rstrip("_"): str(value) for name, value in parameters.items()}
    with opened.lock:
        return json.loads(json.dumps(question.answer(opened, {**asked, **named}), allow_nan=False))
