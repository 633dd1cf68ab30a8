"""Rules about results that a training step computes, or is passed, and that nothing uses."""

from __future__ import annotations

from tensorsleuth.diagnose.needs import Need

NEEDS = Need.TRAINING | Need.EAGER_GRADIENTS
