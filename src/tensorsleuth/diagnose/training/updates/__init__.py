"""Rules about where weights start, and how gradients are gathered for their updates."""

from __future__ import annotations

from tensorsleuth.diagnose.needs import Need

NEEDS = Need.TRAINING | Need.EAGER_GRADIENTS | Need.IDLE_UPDATES
