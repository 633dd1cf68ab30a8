"""Rules about the updates of weights."""

from __future__ import annotations

from tensorsleuth.diagnose.needs import Need

NEEDS = Need.TRAINING | Need.LAYER_STATISTICS | Need.TAPE_VARIABLES
