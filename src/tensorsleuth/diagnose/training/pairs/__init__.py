"""Rules about inputs and labels that were taken apart, so that they no longer belong together."""

from __future__ import annotations

from tensorsleuth.diagnose.needs import Need

NEEDS = Need.TRAINING | Need.EAGER_GRADIENTS
