"""Rules about tokens."""

from __future__ import annotations

from tensorsleuth.diagnose.needs import Need

NEEDS = Need.TRAINING | Need.LAYER_STATISTICS | Need.HIDDEN_ERRORS
