"""Rules about memory and time that grow from step to step."""

from __future__ import annotations

from tensorsleuth.diagnose.needs import Need

NEEDS = Need.STEPS | Need.LARGE_TENSORS | Need.TRACES
