"""What tests on a real TensorFlow share. One process runs them all, so none may leave anything behind."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.compat.looking import bits

import tensorsleuth
from tensorsleuth.core.finding import Finding
from tensorsleuth.trace.reader import Trace

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
for name in ("SLEUTH_LOGDIR", "SLEUTH_RUN", "SLEUTH_SETTINGS", "SLEUTH_PROBE"):
    os.environ.pop(name, None)


def _patched() -> list[tuple[Any, str, Any]]:
    """What a recording replaces in TensorFlow, and what is there now."""
    from tensorsleuth.recording.keras import internals as keras
    from tensorsleuth.recording.tensorflow import internals as tf
    from tensorsleuth.recording.tensorflow import patches

    places = [(tf.pywrap_tfe, name) for name in (*patches.ENTRY_POINTS, "TFE_ContextRemoveFunction")]
    places += [(tf.execute, "record_gradient"), (tf.gradients_util, "_MaybeCompile")]
    runs = ("_do_run", "_call_tf_sessionrun", "_make_callable_from_options")
    places += [(tf.session.BaseSession, name) for name in runs]
    places += [(tf.constant_op, "convert_to_eager_tensor")]
    places += [(tf.FuncRegistry, "insert"), (tf.FuncRegistry, "__call__")]
    places += [(tf.backprop.GradientTape, "__enter__"), (tf.backprop.GradientTape, "gradient")]
    places += [(tf.traceback_utils, "_EXCLUDED_PATHS"), (tf.traceback_utils, "_process_traceback_frames")]
    places += [(tf.TensorBase, "_numpy"), (tf.Context, "scope_name")]
    places += [(tf.ops.name_scope_v2, "__enter__"), (tf.ops.internal_name_scope_v1, "__enter__")]
    places += [(one, name) for one in keras.callback_lists() for name in ("on_train_batch_begin", "on_train_end")]
    places += [(tf.function_serialization, "serialize_concrete_function")]
    places += [(tf.loader_impl, "parse_saved_model_with_debug_info")]
    places += [(tf.StrategyExtended, "call_for_each_replica"), (tf.Server, "__init__")]
    places += [(one, "_initialize") for one in keras.variable_classes()]
    places += [(owner, method) for _, owner, method in keras.naming_methods()]
    places += [*keras.slot_methods()]
    places += [(tf.PolymorphicFunction, "__init__")]
    return [(owner, name, getattr(owner, name)) for owner, name in places]


@pytest.fixture(autouse=True)
def leaves_nothing_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test that leaves a recording under way, or TensorFlow changed."""
    if "tf" not in vars(request.module):  # it runs TensorFlow elsewhere
        yield
        return
    from tensorsleuth.live.guard import api as guarding
    from tensorsleuth.recording import api

    before = _patched()
    yield
    guard, left = guarding._active, api._active
    for open_still in (guard, left):
        if open_still is not None:
            open_still.close()
    from tensorsleuth.live.breakpoints import api as breaking

    points = list(breaking._breaks._all.values()) if breaking._breaks is not None else []
    for point in points:
        breaking._remove(point)
    from tensorsleuth.live.watch import api as watching

    still = list(watching._watches._all) if watching._watches is not None else []
    if watching._watches is not None:
        watching._watches._all.clear()
        for entry in watching._watches._book.entries():
            entry.asked.clear()
        watching._leave()  # a point stays watched as long as the program runs
    assert not still, "something is still watched"
    assert not points, "a break point is still set"
    assert left is None, "a recording is still under way"
    assert guard is None, "a guard is still on duty"
    changed = [name for owner, name, was in before if getattr(owner, name) is not was]
    assert not changed, f"still replaced: {', '.join(changed)}"


@pytest.fixture
def recorded(tmp_path: Path) -> Callable[..., Trace]:
    """Runs a function under recording, with these settings, and returns the trace."""

    def run(action: Callable[[], Any], **settings: Any) -> Trace:
        with tensorsleuth.record(tmp_path / "runs", **settings) as recording:
            action()
        assert recording.path is not None
        return _sound(tensorsleuth.open(recording.path))

    return run


@pytest.fixture
def dying(recorded: Callable[..., Trace], monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], Finding]:
    """Runs a program that ends with an exception, and returns the first finding."""
    import tensorflow as tf

    def run(program: Callable[[], Any]) -> Finding:
        def end() -> None:
            with pytest.raises((ValueError, TypeError, IndexError, tf.errors.OpError)) as raised:
                program()
            monkeypatch.setattr(sys, "last_value", raised.value, raising=False)

        trace = recorded(end)
        trace.meta["ended"] = {"exit": 1}
        return tensorsleuth.diagnose(trace).findings[0]

    return run


@pytest.fixture
def compared(tmp_path: Path) -> Callable[..., Trace]:
    """Runs a function bare, then under recording: the results must be the same bits. Returns the trace."""
    import tensorflow as tf

    def run(action: Callable[[], Any], **settings: Any) -> Trace:
        tf.random.set_seed(1)
        bare = bits(action())
        tf.random.set_seed(1)
        with tensorsleuth.record(tmp_path / "runs", **settings) as recording:
            watched = bits(action())
        assert watched == bare
        assert recording.path is not None
        return _sound(tensorsleuth.open(recording.path))

    return run


def _sound(trace: Trace) -> Trace:
    assert trace.trouble == []
    assert len(trace.processes) == 1
    return trace


@pytest.fixture(autouse=True)
def says_nothing(request: pytest.FixtureRequest, capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Fails a test in which tensorsleuth complained on stderr, unless it reads that itself."""
    from tensorsleuth.recording import harmless

    harmless._said.clear()
    yield
    said = [line for line in capfd.readouterr().err.splitlines() if line.startswith("tensorsleuth:")]
    assert not said
