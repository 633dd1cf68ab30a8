"""Facts about this machine from TensorFlow and the native library, as JSON on stdout.

    python -m tensorsleuth.recording.backends.machine

It is a separate process, because TensorFlow may crash on import.
"""

from __future__ import annotations

import ctypes
import json
from typing import Any

from tensorsleuth.native.loader import INSTRUCTION_SETS, LIBRARY


def facts() -> dict[str, Any]:
    """Return all facts that can be found. A failed check leaves its message under `…_error`."""
    found: dict[str, Any] = {}
    for name, look in (("tensorflow", _tensorflow), ("native", _native), ("keras", _keras)):
        try:
            found[name] = look()
        except Exception as error:
            found[f"{name}_error"] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    return found


def _tensorflow() -> dict[str, Any]:
    import tensorflow as tf

    devices = [device.device_type for device in tf.config.list_physical_devices()]
    return {"version": tf.__version__, "file": tf.__file__, "devices": devices}


def _native() -> str:
    return INSTRUCTION_SETS[ctypes.CDLL(str(LIBRARY)).sleuth_isa()]


def _keras() -> str:
    import keras

    return str(keras.__version__)


if __name__ == "__main__":
    print(json.dumps(facts()))
