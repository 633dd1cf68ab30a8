"""Turns single parts of a recording off, to see what each of them costs. For the account only: nobody runs this way."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

End = Callable[[], None]


def no_values() -> None:
    """Write the rows of tensors, but do not read the tensors."""
    from tensorsleuth.core.modes import Mode
    from tensorsleuth.recording.functions import optimizer_probes, probes

    real = probes.mode_number

    def unread(look: Mode | None) -> int:
        return real(None if look is None else Mode.NO_TENSOR)

    optimizer_probes.mode_number = unread  # type: ignore[attr-defined]


def no_nodes() -> None:
    """Add no probes and no end marks to functions that Python calls."""
    _describe_nothing_if(lambda context: context.root is not None)


def no_dataset_nodes() -> None:
    """Add no probes to functions of datasets."""
    _describe_nothing_if(lambda context: context.root is None)


def _describe_nothing_if(is_off: Callable[[Any], bool]) -> None:
    from tensorsleuth.recording.functions import optimizer_probes

    real = optimizer_probes.describe_probes

    def describe(definition: Any, context: Any, *others: Any) -> str:
        return "" if is_off(context) else real(definition, context, *others)

    optimizer_probes.describe_probes = describe  # type: ignore[assignment]


def no_copies() -> None:
    """Run all functions as they are: no nodes, no argument for the call's number, nothing to join."""
    from tensorsleuth.recording.functions.watched_functions import WatchedFunctions

    WatchedFunctions.watched_copy = lambda *_, **__: None  # type: ignore[method-assign]


def no_keras() -> None:
    """Do not follow the batches of Keras."""
    from tensorsleuth.recording.keras.patches import KerasPatches

    KerasPatches._watch_callbacks = lambda *_: None  # type: ignore[method-assign]


def no_value_reads() -> None:
    """Do not look at what Python reads as numbers."""
    from tensorsleuth.recording.tensorflow import patches

    patches.watch_values = lambda *_: None


def no_memory() -> None:
    """Record no addresses, no samples of memory, and no end times of ops."""
    from bench.variants import _measure_no_memory

    _measure_no_memory()


PARTS: dict[str, tuple[str, Callable[[], None] | None]] = {
    "values": ("reading the tensors of functions", no_values),
    "nodes": ("probes and end marks in functions", no_nodes),
    "dataset-nodes": ("probes in functions of datasets", no_dataset_nodes),
    "copies": ("watched copies of functions, with all of their nodes", no_copies),
    "layers": ("layer statistics in sampled steps", None),
    "memory": ("memory samples, addresses and end times", no_memory),
    "keras": ("Keras's batches", no_keras),
    "reads": ("what Python reads as numbers", no_value_reads),
}
"""The parts that can be off, by their names: what the account calls them, and what turns them off."""

WITHOUT = "-without-"


def start(folder: str, text: str) -> End:
    """Start a recording as `MODE` or `MODE-without-PART` says. Return what ends it."""
    import tensorsleuth

    mode, _, part = text.partition(WITHOUT)
    turn_off = PARTS[part][1] if part else None
    if turn_off is not None:
        turn_off()
    recording = tensorsleuth.record(folder, mode=mode, inside_every=0 if part == "layers" else None)
    return recording.close


def count_work(action: Callable[[], Any]) -> dict[str, float]:
    """Return how many rows of tensors, and calls of our Python functions, an action takes."""
    import tensorsleuth
    from tensorsleuth.native import loader

    native, package = loader.load(), str(Path(tensorsleuth.__file__).parent)
    calls = 0

    def saw(frame: Any, event: str, _: Any) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_code.co_filename.startswith(package)

    before = native.events() if native is not None else 0
    sys.setprofile(saw)
    try:
        action()
    finally:
        sys.setprofile(None)
    return {"rows": (native.events() if native is not None else 0) - before, "python": calls}
