"""Writes a call to a folder, with all it needs to be run again elsewhere.

step.json      what it is, and which file holds what
functions.pb   the functions, as TensorFlow has them
lines.json     the catalogue's words for them, and the source files
0.npy, …       values; text is a TensorProto, in *.tensor
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorsleuth.core.dtypes import VARIANT
from tensorsleuth.recording.functions.function_def import called_functions
from tensorsleuth.recording.functions.function_library import Library, Way
from tensorsleuth.recording.observer import FunctionCall
from tensorsleuth.recording.replay.replay_inputs import Keeper
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.trace.storage.saved_steps import DESCRIPTION, FORMAT, STEPS

if TYPE_CHECKING:
    from tensorsleuth.recording.replay.replay_buffer import Flight

MOST_STEPS = 3
MOST_BYTES = 1 << 30


class Saver:
    """Keeps the first steps that went bad in the folder of the process."""

    def __init__(self, folder: Path, library: Library, keeper: Keeper) -> None:
        self._folder = folder / STEPS
        self._library = library
        self._keeper = keeper
        self._saved = 0

    def save(self, call: FunctionCall, flight: Flight, step: int, raised: bool) -> None:
        """Save a call; what it took is what the keeper is about to hand out again."""
        if self._saved >= MOST_STEPS:
            return
        self._saved += 1
        try:
            self._write(call, flight, step, raised)
        except _CannotSave as error:
            self._library.catalog.not_covered(f"step {step}, saved", str(error))

    def _write(self, call: FunctionCall, flight: Flight, step: int, raised: bool) -> None:
        if flight.earlier:
            raise _CannotSave("what its variables held before it is not known: the calls before it do not run again")
        kept = list(self._kept(flight.name))
        taken = [value for _, _, held in kept for each in held for value in each]
        size = sum(tf.bytes_of(value) for value in (*flight.values, *taken))
        if size > MOST_BYTES:
            raise _CannotSave(f"it takes {size / 1e9:.1f} GB, and {MOST_BYTES / 1e9:.1f} GB are kept")
        values = _Values(self._folder / str(call.number))
        described = {
            "format": FORMAT,
            "function": flight.name,
            "step": step,
            "raised": raised,
            "outputs": call.place[2],
            "arguments": list(_arguments(flight, values)),
            "kept": [_described(way, slot, held, values) for way, slot, held in kept],
        }
        functions = _functions(flight.name)
        lines = self._library.described([function.signature.name for function in functions.function])
        values.folder.joinpath("functions.pb").write_bytes(functions.SerializeToString())
        values.folder.joinpath("lines.json").write_text(json.dumps(lines))
        values.folder.joinpath(DESCRIPTION).write_text(json.dumps(described, indent=1))  # last: it is complete

    def _kept(self, name: str) -> Iterator[tuple[Way, int, list[list[Any]]]]:
        """Return the inputs of the call: for each op, the values of each of its outputs."""
        for way, slot, dtypes in self._library.kept(name):
            if VARIANT in dtypes and self._keeper.count(slot + dtypes.index(VARIANT)):
                raise _CannotSave("it took something that is not a tensor (an Optional, with steps_per_execution)")
            yield way, slot, [self._keeper.held(slot + at, dtype) for at, dtype in enumerate(dtypes)]


class _CannotSave(Exception):
    """Said in the catalogue."""


class _Values:
    """The values of a step, a file each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._count = 0
        folder.mkdir(parents=True)

    def add(self, tensor: Any) -> str:
        """The name of the file that a value was written to."""
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


def _described(way: Way, slot: int, held: list[list[Any]], values: _Values) -> dict[str, Any]:
    return {"way": way, "slot": slot, "files": [[values.add(one) for one in each] for each in held]}


def _arguments(flight: Flight, values: _Values) -> Iterator[dict[str, str]]:
    variables = dict(zip(flight.variables.arguments, flight.values, strict=True))
    for number, given in enumerate(flight.inputs):
        if number in variables:
            yield {"kind": "variable", "file": values.add(variables[number])}
        elif given.dtype.name in ("resource", "variant"):
            yield {"kind": "other", "file": ""}
        else:
            yield {"kind": "tensor", "file": values.add(given)}


def _functions(name: str) -> Any:
    """A function and all that it calls."""
    library, wanted, seen = tf.FunctionDefLibrary(), [name], set[str]()
    while wanted:
        one = wanted.pop()
        proto = tf.get_function(one) if one not in seen else None
        seen.add(one)
        if proto is not None:
            library.function.add().CopyFrom(proto)
            wanted += [function.name for node in proto.node_def for _, function in called_functions(node)]
    return library
