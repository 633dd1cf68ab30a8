"""Leads from the code that AutoGraph wrote back to the line it was made of.

TensorFlow does so for the functions that it has converted and that are running in the same thread. It knows nothing
of a function that was defined inside of one and is called in another thread, as MirroredStrategy does for each replica.
"""

from __future__ import annotations

from functools import cache

from tensorsleuth.trace.storage.catalog_writer import FrameKey

_GENERATED = "__autograph_generated_file"  # how the names of such files begin
MAX_GENERATIONS = 5  # code may be made of code that was made


def is_generated(path: str) -> bool:
    return _GENERATED in path


def original_frame(frame: FrameKey) -> FrameKey | None:
    """The frame as the user wrote it; None where AutoGraph made it up."""
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
    """Return the source lines of each line of a generated file."""
    from tensorflow.python.autograph.impl import api  # where TensorFlow has not been imported, nothing is generated

    with api._TRANSPILER._cache_lock:
        factories = [one for kinds in list(api._TRANSPILER._cache._cache.values()) for one in kinds.values()]
    for factory in factories:
        if factory.module is not None and factory.module.__file__ == path:
            return {
                place.lineno: (origin.loc.filename, origin.loc.lineno, origin.function_name)
                for place, origin in factory.source_map.items()
            }
    return {}
