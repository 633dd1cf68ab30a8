"""Rules about the data that a program computes with."""

from __future__ import annotations

from tensorsleuth.diagnose.needs import Need

NEEDS = Need.LAYER_STATISTICS | Need.TEXTS
