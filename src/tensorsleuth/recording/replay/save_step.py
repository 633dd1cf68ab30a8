"""Writes a call to a folder, with all that a later replay elsewhere needs.

step.json      the description of the call, and the index of the other files
functions.pb   the functions, as TensorFlow stores them
lines.json     the catalogue's descriptions of the functions, and the source files
0.npy, …       values; strings are a TensorProto, in *.tensor
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorsleuth.core.dtypes import VARIANT
from tensorsleuth.recording.functions.function_def import called_functions
from tensorsleuth.recording.functions.function_library import FunctionLibrary, NodePath
from tensorsleuth.recording.observer import FunctionCall
from tensorsleuth.recording.replay.replay_inputs import ReplayStore
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.trace.storage.saved_steps import DESCRIPTION_FILE, STEP_FORMAT, STEPS_FOLDER

if TYPE_CHECKING:
    from tensorsleuth.recording.replay.replay_buffer import ReplayableCall

MAX_SAVED_STEPS = 3
MAX_STEP_BYTES = 1 << 30


class StepSaver:
    """Saves the first steps that went bad in the folder of the process."""

    def __init__(self, folder: Path, function_library: FunctionLibrary, replay_store: ReplayStore) -> None:
        self._folder = folder / STEPS_FOLDER
        self._library = function_library
        self._keeper = replay_store
        self._saved = 0

    def save(self, call: FunctionCall, replayable_call: ReplayableCall, step: int, raised: bool) -> None:
        """Save a call. The replay store is ready to return its outside inputs."""
        if self._saved >= MAX_SAVED_STEPS:
            return
        self._saved += 1
        try:
            self._write(call, replayable_call, step, raised)
        except _CannotSave as error:
            self._library.catalog.not_covered(f"step {step}, saved", str(error))

    def _write(self, call: FunctionCall, replayable_call: ReplayableCall, step: int, raised: bool) -> None:
        if replayable_call.earlier:
            raise _CannotSave("the earlier values of its variables are unknown: earlier calls failed in the replay")
        kept = list(self._kept(replayable_call.name))
        taken = [value for _, _, held in kept for each in held for value in each]
        size = sum(tf.bytes_of(value) for value in (*replayable_call.values, *taken))
        if size > MAX_STEP_BYTES:
            raise _CannotSave(f"it takes {size / 1e9:.1f} GB, more than the limit of {MAX_STEP_BYTES / 1e9:.1f} GB")
        value_files = _ValueFiles(self._folder / str(call.number))
        described = {
            "format": STEP_FORMAT,
            "function": replayable_call.name,
            "step": step,
            "raised": raised,
            "outputs": call.place[2],
            "arguments": list(_arguments(replayable_call, value_files)),
            "kept": [_describe_kept(way, slot, held, value_files) for way, slot, held in kept],
        }
        functions = _called_library(replayable_call.name)
        lines = self._library.describe_functions([function.signature.name for function in functions.function])
        value_files.folder.joinpath("functions.pb").write_bytes(functions.SerializeToString())
        value_files.folder.joinpath("lines.json").write_text(json.dumps(lines))
        value_files.folder.joinpath(DESCRIPTION_FILE).write_text(
            json.dumps(described, indent=1)
        )  # written last, so that its existence marks a complete step

    def _kept(self, name: str) -> Iterator[tuple[NodePath, int, list[list[Any]]]]:
        """Yield the outside inputs of the call: for each op, the values of each of its outputs."""
        for way, slot, dtypes in self._library.kept_inputs(name):
            if VARIANT in dtypes and self._keeper.count(slot + dtypes.index(VARIANT)):
                raise _CannotSave("one of its inputs is not a tensor (an Optional, with steps_per_execution)")
            yield way, slot, [self._keeper.values_in(slot + at, dtype) for at, dtype in enumerate(dtypes)]


class _CannotSave(Exception):
    """The reason why a step is not saved, for the catalogue."""


class _ValueFiles:
    """The value files of a saved step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._count = 0
        folder.mkdir(parents=True)

    def add(self, tensor: Any) -> str:
        """Write a value to a file and return its name."""
        if tensor.dtype.name == "string":
            name = f"{self._count}.tensor"
            (self.folder / name).write_bytes(tf.serialize(tensor))
        else:
            name = f"{self._count}.npy"
            array = np.asarray(tf.array_of(tensor))
            plain = array.view(f"u{array.itemsize}") if array.dtype.kind not in "biufc" else array
            np.save(self.folder / name, plain, allow_pickle=False)
        self._count += 1
        return f"{tensor.dtype.name} {name}"


def _describe_kept(node_path: NodePath, slot: int, held: list[list[Any]], value_files: _ValueFiles) -> dict[str, Any]:
    return {"way": node_path, "slot": slot, "files": [[value_files.add(one) for one in each] for each in held]}


def _arguments(replayable_call: ReplayableCall, value_files: _ValueFiles) -> Iterator[dict[str, str]]:
    variables = dict(zip(replayable_call.variables.arguments, replayable_call.values, strict=True))
    for number, given in enumerate(replayable_call.inputs):
        if number in variables:
            yield {"kind": "variable", "file": value_files.add(variables[number])}
        elif given.dtype.name in ("resource", "variant"):
            yield {"kind": "other", "file": ""}
        else:
            yield {"kind": "tensor", "file": value_files.add(given)}


def _called_library(name: str) -> Any:
    """Return the library of a function and all that it calls."""
    library, wanted, seen = tf.FunctionDefLibrary(), [name], set[str]()
    while wanted:
        one = wanted.pop()
        proto = tf.get_function(one) if one not in seen else None
        seen.add(one)
        if proto is not None:
            library.function.add().CopyFrom(proto)
            wanted += [function.name for node in proto.node_def for _, function in called_functions(node)]
    return library
