"""How a worker's process is watched: each variant takes a folder and a mode, and returns what ends it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import tensorflow as tf

from bench import ablation
from bench.models import Transformer

End = Callable[[], None]
GUARD, BREAK, EXPECT = "guard", "break", "expect"  # used instead of a mode
UNMEASURED = "unmeasured"  # FULL_HEALTH without memory samples, tensor lifetimes and times
WATCH, SELDOM = "watch", "seldom"  # watch all weights and their gradients: in each step, or in no step
INSIDE, OUTSIDE = "inside", "outside"  # layer statistics: in each step, or hardly ever
OFTEN, HARDLY_EVER = 1, 1 << 40


def bare(folder: str, mode: str) -> End:
    """Nothing watches."""
    return lambda: None


def ours(folder: str, mode: str) -> End:
    """As a user would type it: `record`, `guard`, a break point that nothing comes to, expectations, a watch."""
    import tensorsleuth

    if mode == GUARD:
        return tensorsleuth.guard().close
    if mode == EXPECT:
        Transformer.judge = staticmethod(lambda x: tensorsleuth.expect(x, finite=True))
        return lambda: None
    if mode == UNMEASURED:
        _measure_no_memory()
    as_always = mode in (BREAK, WATCH, SELDOM, UNMEASURED, INSIDE, OUTSIDE)
    every = {INSIDE: OFTEN, OUTSIDE: HARDLY_EVER}.get(mode)
    recording = tensorsleuth.record(folder, mode="FULL_HEALTH" if as_always else mode, inside_every=every)
    if recording.recorder is None:
        raise RuntimeError("not recording: there is nothing to measure")
    if mode == BREAK:
        tensorsleuth.break_when("abs_max > 1e30", then="stop")
    if mode in (WATCH, SELDOM):
        tensorsleuth.watch(["variable:.*", "gradient:.*"], every=1 if mode == WATCH else 1 << 40)
    return recording.close


def _measure_no_memory() -> None:
    from tensorsleuth.recording import recorder
    from tensorsleuth.trace.storage.size_plan import make_plan

    def plan(*given: Any) -> Any:
        return replace(make_plan(*given), samples=None, buffers=None, op_ends=None)

    recorder.make_plan = plan  # type: ignore[attr-defined, assignment]


def tfdbg2(folder: str, mode: str) -> End:
    """TensorFlow's own dump, told to keep everything as we do, and not only the last 1,000 events."""
    debug = tf.debugging.experimental
    writer = debug.enable_dump_debug_info(folder, tensor_debug_mode=mode, circular_buffer_size=-1)

    def end() -> None:
        debug.disable_dump_debug_info()
        writer.FlushExecutionFiles()
        writer.FlushNonExecutionFiles()

    return end


def check_numerics(folder: str, mode: str) -> End:
    """TensorFlow's check of every tensor, which keeps no record."""
    tf.debugging.enable_check_numerics()
    end: End = tf.debugging.disable_check_numerics
    return end


VARIANTS = {
    **{f"part-{number}": ablation.start for number in range(2 + len(ablation.PARTS))},  # for bench/account.py
    "bare": bare,
    "again": bare,
    "ours": ours,
    "seldom": ours,
    "each": ours,
    "unmeasured": ours,
    "tfdbg2": tfdbg2,
    "check_numerics": check_numerics,
}
