"""Steps that were saved with a run: their folders and descriptions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensorsleuth.core.errors import SleuthError

STEPS_FOLDER = "steps"
STEP_FORMAT = 1
DESCRIPTION_FILE = "step.json"


@dataclass(frozen=True)
class SavedStep:
    """One call of a function that produced a bad value."""

    folder: Path
    step: int
    function: str
    described: dict[str, Any]


def read_step(folder: Path) -> SavedStep:
    """Read the step in a folder, or raise an error that says what is wrong with it."""
    try:
        described = json.loads((folder / DESCRIPTION_FILE).read_text())
        if described["format"] != STEP_FORMAT:
            raise SleuthError(
                f"{folder} has format {described['format']}, and this sleuth reads {STEP_FORMAT}: use a newer one."
            )
        return SavedStep(folder, int(described["step"]), str(described["function"]), described)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SleuthError(
            f"{folder} holds no saved step ({type(error).__name__}: {error}). `sleuth save-step --to FOLDER` makes one."
        ) from error


def saved_steps_of(run: Path) -> list[SavedStep]:
    """Return the complete steps that were saved with a run, oldest first."""
    folders = [path.parent for path in run.glob(f"p-*/{STEPS_FOLDER}/*/{DESCRIPTION_FILE}")]
    steps = [read_step(folder) for folder in folders]
    return sorted(steps, key=lambda step: (step.step, int(step.folder.name) if step.folder.name.isdigit() else 0))
