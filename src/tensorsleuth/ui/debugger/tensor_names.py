"""References to tensors: a name, `Log:0`, the end of one, or a number from a list, `#41`."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

import numpy as np

from tensorsleuth.core.array import Array
from tensorsleuth.core.errors import SleuthError
from tensorsleuth.trace.query.ops import Op
from tensorsleuth.trace.query.tensor_event import TensorEvent

if TYPE_CHECKING:
    from tensorsleuth.ui.debugger.debugger import Debugger

_SLICED = re.compile(r"(?P<name>[^\[]*)(?P<slice>\[.*\])?", re.S)
_OUTPUT = re.compile(r"(.*):(\d+)")


def split_slice(text: str) -> tuple[str, str]:
    """Split `Log:0[0, :]` into its name and its slice."""
    found = _SLICED.fullmatch(text)
    if found is None:
        raise SleuthError(f"{text!r} is not a tensor and a slice. For example: Log:0[0, :]")
    return found["name"].strip(), found["slice"] or ""


def find_tensor(debugger: Debugger, name: str | None, step: int | None = None, nth: int | None = None) -> TensorEvent:
    """Return the tensor of a name: at `step`, else at the selected step, else the first bad one, else the last."""
    if not name:
        return _selected(debugger)
    if name.startswith("#"):
        return debugger.everything[_number(debugger, name)]
    places = _places_named(debugger, name)
    if step is not None:
        places = _at_step(debugger, places, step, name)
    if nth is not None:
        return debugger.everything[_nth(places, nth, name)]
    return debugger.everything[_likeliest(debugger, places)]


def _selected(debugger: Debugger) -> TensorEvent:
    if debugger.focus is None:
        raise SleuthError("no tensor is selected yet. Name one, or select one: next, step, find TEXT")
    return debugger.focus


def _number(debugger: Debugger, name: str) -> int:
    count = len(debugger.everything)
    if not count:
        raise SleuthError("the run has no tensors. Was TensorFlow used? See: sleuth info")
    if not name[1:].isdecimal() or not int(name[1:]) < count:
        raise SleuthError(f"there is no tensor {name}: the run has #0 to #{count - 1}. List them: lt")
    return int(name[1:])


def _places_named(debugger: Debugger, name: str) -> Array:
    """Return the numbers of all tensors of that name. If there is no such name, it may be a part of one."""
    numbered = _OUTPUT.fullmatch(name)
    bare, output = (numbered[1], int(numbered[2])) if numbered else (name, None)
    exactly = debugger.everything.words(lambda op: op.name == bare).astype(bool)
    named = exactly if exactly.any() else debugger.everything.words(lambda op: _ends(op, bare)).astype(bool)
    if named.any():
        return _of_output(debugger, np.flatnonzero(named), output, name)
    if any(_ends(op, bare) for op in debugger.trace.ops()):
        raise SleuthError(f"{name!r} was never computed: TensorFlow's optimizer fused or removed it.")
    raise SleuthError(f"there is no tensor {name!r} in the run. {_nearest(debugger, bare)}")


def _ends(op: Op, name: str) -> bool:
    return op.name == name or op.name.endswith("/" + name)


def _of_output(debugger: Debugger, places: Array, output: int | None, name: str) -> Array:
    firsts = debugger.everything.words(lambda op: op.first_tensor).astype(np.int64)[places]
    outputs = debugger.everything.rows["tensor"][places].astype(np.int64) - firsts
    found = places[outputs == output] if output is not None else places
    if not len(found):
        there = ", ".join(f":{number}" for number in np.unique(outputs))
        raise SleuthError(f"there is no tensor {name!r}. The recorded outputs of its op: {there}.")
    return found


def _nearest(debugger: Debugger, name: str) -> str:
    """Return similar names, or ends of names."""
    ends = {op.name.rpartition("/")[2]: op.name for op in debugger.trace.ops()}
    names = {**ends, **{op.name: op.name for op in debugger.trace.ops()}}
    near = dict.fromkeys(names[found] for found in difflib.get_close_matches(name, names, 3))
    return f"Similar: {', '.join(near)}." if near else "List the tensors: lt"


def _at_step(debugger: Debugger, places: Array, step: int, name: str) -> Array:
    steps = debugger.everything.health["step"][places]
    if step not in steps:
        seen = f"steps {steps.min()} to {steps.max()}" if steps.max() >= 0 else "no training step"
        raise SleuthError(f"{name!r} was not computed in step {step}, but in {seen}.")
    return np.asarray(places[steps == step])


def _nth(places: Array, nth: int, name: str) -> int:
    if not -len(places) <= nth < len(places):
        raise SleuthError(f"{name!r} was recorded {len(places):,} times: -n takes 0 to {len(places) - 1:,}.")
    return int(places[nth])


def _likeliest(debugger: Debugger, places: Array) -> int:
    health = debugger.everything.health
    here = debugger.place()
    if here in places:
        return here
    if debugger.focus is not None and debugger.focus.step is not None:
        now = places[health["step"][places] == debugger.focus.step]
        places = now if len(now) else places
    bad = places[health["bad"][places]]
    return int(bad[0]) if len(bad) else int(places[-1])
