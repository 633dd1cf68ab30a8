"""Rules about gradients."""

from __future__ import annotations

from tensorsleuth.diagnose.needs import Need

NEEDS = Need.TRAINING | Need.LAYER_STATISTICS | Need.EAGER_GRADIENTS
