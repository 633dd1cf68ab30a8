"""Keras's private parts, all that we touch of them: of Keras 3, of tf-keras, and of the Keras in TensorFlow 2.15.

Programs import Keras when they like, or never: each part is looked for among the modules that are loaded.
`tests/compat/test_keras_internals.py` fails, part by part, when a version moves one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

# Modules that have a CallbackList: Keras 3, tf-keras, Keras 2 as in TensorFlow 2.15.
CALLBACKS = ("keras.src.callbacks.callback_list", "tf_keras.src.callbacks", "keras.src.callbacks")
TRACEBACKS = ("keras.src.utils.traceback_utils", "tf_keras.src.utils.traceback_utils")


def loaded(names: tuple[str, ...], attribute: str) -> Iterator[Any]:
    """An attribute of those modules that are loaded, and have got as far as to have it."""
    for name in names:
        found = getattr(sys.modules.get(name), attribute, None)
        if found is not None:
            yield found


def callback_lists() -> Iterator[type]:
    """The classes through which Keras tells callbacks of epochs and batches."""
    yield from loaded(CALLBACKS, "CallbackList")


def traceback_modules() -> Iterator[Any]:
    """The modules that cut Keras's own frames from tracebacks."""
    yield from (sys.modules[name] for name in TRACEBACKS if hasattr(sys.modules.get(name), "_EXCLUDED_PATHS"))
