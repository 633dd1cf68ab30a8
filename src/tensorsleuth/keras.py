"""For programs that train with Keras: a callback that records a fit, stops it at the first NaN, and says why."""

from __future__ import annotations

from tensorsleuth.integrations.keras_callback import SleuthCallback

__all__ = ["SleuthCallback"]
