"""For programs that train with Keras: a callback that records a fit, stops it at the first NaN, and says why.

Importing it lets Keras load models that hold expectations.
"""

from __future__ import annotations

import sys

from tensorsleuth.integrations.keras_callback import SleuthCallback
from tensorsleuth.live.expect import keras_layer

__all__ = ["SleuthCallback"]

keras_layer.register()
Expect = keras_layer.layer_class("tf_keras" if "tf_keras" in sys.modules else "keras")  # Keras 2 looks for it here
