"""Runs a saved step without its program, and records it, so that `sleuth why` can explain it."""

from __future__ import annotations

import json
import linecache
import re
import time
from pathlib import Path
from typing import Any

import numpy as np

from tensorsleuth.core.errors import SleuthError
from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.core.replay_outcome import ReplayOutcome
from tensorsleuth.recording.api import Recording
from tensorsleuth.recording.observer import FunctionCall
from tensorsleuth.recording.recorder import Recorder
from tensorsleuth.recording.replay.replay_buffer import ReplayableCall
from tensorsleuth.recording.replay.replay_inputs import ReplayStore
from tensorsleuth.recording.replay.replayer import Replayer
from tensorsleuth.recording.replay.snapshots import VariableSnapshot
from tensorsleuth.recording.replay.variable_state import VariableArguments
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.recording.tensorflow import variables as tf_variables
from tensorsleuth.trace.storage.saved_steps import SavedStep

_VALUE_FILE = re.compile(r"(\w+) (\d+\.(npy|tensor))$")


def rerun_step(step: SavedStep, recording: Recording) -> ReplayOutcome | None:
    """Run a step into an active recording. Return the outcome, or None if the recording could not start."""
    recorder: Recorder | None = recording.recorder
    if recorder is None:
        return None
    flights = recorder.replay_buffer
    if flights is None:
        raise SleuthError("A step can be run again only with the native library: see `sleuth doctor`.")
    try:
        return _rerun(step, recorder, flights.replayer, flights.store)
    except (OSError, ValueError, KeyError, TypeError, IndexError, *tf.TensorFlowErrors) as error:
        raise SleuthError(f"{step.folder} cannot be run: {type(error).__name__}: {error}".splitlines()[0]) from error


def _rerun(step: SavedStep, recorder: Recorder, replayer: Replayer, replay_store: ReplayStore) -> ReplayOutcome:
    library, described = recorder.functions.library, step.described
    _add_functions(step.folder)
    lines = json.loads((step.folder / "lines.json").read_text())
    inputs = [_argument(step.folder, argument) for argument in described["arguments"]]
    _remember_sources(lines["files"])
    _rename_variables(lines["functions"].get(step.function, {}), inputs)
    library.add_descriptions(lines)
    call, flight = _call(step, recorder, inputs)
    for kept in described["kept"]:
        library.note_slot(tuple(kept["way"]), int(kept["slot"]))
        for at, files in enumerate(kept["files"]):
            for file in files:
                replay_store.keep(int(kept["slot"]) + at, _value(step.folder, file))
    replay_store.join_call(call.number)
    recorder.steps.go_to(step.step)
    recorder.sink.call(CallKind.FUNCTION, call.number, call.place[0], call.began, 0, [one._id for one in inputs])
    ran = replayer.replay(call, flight, None if described["raised"] else [], True)
    return ran.outcome if ran is not None else ReplayOutcome.NOT_REPRODUCED


def _rename_variables(function: dict[str, Any], inputs: list[Any]) -> None:
    """Rename the captured variables to the new variables of this process."""
    for number, captured in function.get("captures", {}).items():
        captured["uid"] = inputs[int(number)]._id


def _call(step: SavedStep, recorder: Recorder, inputs: list[Any]) -> tuple[FunctionCall, ReplayableCall]:
    place = recorder.places.at_site(step.function, 0, int(step.described["outputs"]))
    number = recorder.sink.next_call()
    call = FunctionCall(step.function, step.function, inputs, number, time.monotonic_ns(), place, None)
    outline = recorder.functions.outline(step.function)
    variables = _variables(step.described["arguments"])
    values = variables.read(inputs)
    written = variables.floats().only(outline.written_arguments)
    return call, ReplayableCall(
        step.function, lambda: None, inputs, outline, variables, written, values, 0, (), VariableSnapshot(values)
    )


def _variables(arguments: list[dict[str, str]]) -> VariableArguments:
    numbers = [number for number, argument in enumerate(arguments) if argument["kind"] == "variable"]
    dtypes = [tf.dtype_named(arguments[number]["file"].split()[0]).as_datatype_enum for number in numbers]
    return VariableArguments(tuple(numbers), tuple(dtypes))


def _add_functions(folder: Path) -> None:
    library = tf.FunctionDefLibrary()
    library.ParseFromString((folder / "functions.pb").read_bytes())
    for function in library.function:
        if tf.get_function(function.signature.name) is None:
            tf.add_function(function)


def _argument(folder: Path, argument: dict[str, str]) -> Any:
    if argument["kind"] == "other":  # an iterator or table, whose outputs were kept
        return tf_variables.make_variable(tf.as_tensor(np.zeros([], np.float32)), "")
    value = _value(folder, argument["file"])
    return tf_variables.make_variable(value, "") if argument["kind"] == "variable" else value


def _value(folder: Path, text: str) -> Any:
    found = _VALUE_FILE.match(text)
    if found is None:
        raise ValueError(f"{text!r} is not a value")
    dtype, name = tf.dtype_named(found[1]), found[2]
    if name.endswith(".tensor"):
        return tf.deserialize((folder / name).read_bytes(), dtype)
    array = np.load(folder / name, allow_pickle=False)
    return tf.as_tensor(array if array.dtype == dtype.as_numpy_dtype else array.view(dtype.as_numpy_dtype))


def _remember_sources(files: dict[str, str]) -> None:
    """Make Python show source lines from the saved step, because the files may differ or be missing here."""
    for path, text in files.items():
        linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
