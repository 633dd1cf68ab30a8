"""Rules about samples: inputs, labels, classes, and what a model learns from them."""

from __future__ import annotations

from tensorsleuth.diagnose.needs import Need

NEEDS = Need.TRAINING | Need.EAGER_GRADIENTS
