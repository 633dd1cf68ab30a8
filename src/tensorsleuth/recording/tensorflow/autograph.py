"""Maps code that AutoGraph generated back to the user's lines.

TensorFlow does this only for functions that were converted in the same thread and are running. It fails for a function
that is defined inside a converted one and called in another thread, as MirroredStrategy does for each replica.
"""

from __future__ import annotations

from functools import cache

from tensorsleuth.trace.storage.catalog_writer import FrameKey

_GENERATED = "__autograph_generated_file"  # the prefix of generated file names
MAX_GENERATIONS = 5  # AutoGraph may convert generated code again


def is_generated(path: str) -> bool:
    return _GENERATED in path


def original_frame(frame: FrameKey) -> FrameKey | None:
    """Return the user's frame; None if a generated line has no original."""
    for _ in range(MAX_GENERATIONS):
        if not is_generated(frame[0]):
            return frame
        origin = _original_lines(frame[0]).get(frame[1])
        if origin is None:
            return None
        frame = origin
    return None


@cache
def _original_lines(path: str) -> dict[int, FrameKey]:
    """Map the lines of a generated file to the user's lines."""
    from tensorflow.python.autograph.impl import api  # without TensorFlow, no file is generated

    with api._TRANSPILER._cache_lock:
        factories = [one for kinds in list(api._TRANSPILER._cache._cache.values()) for one in kinds.values()]
    for factory in factories:
        if factory.module is not None and factory.module.__file__ == path:
            return {
                place.lineno: (origin.loc.filename, origin.loc.lineno, origin.function_name)
                for place, origin in factory.source_map.items()
            }
    return {}
