"""Rules about the heads of attention, and the scale of its scores."""

from __future__ import annotations

from tensorsleuth.diagnose.needs import Need

NEEDS = Need.TRAINING | Need.LAYER_STATISTICS
