"""What is watched in this process: put where tensors are computed, and looked at where its turn has come."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tensorsleuth.core.dtypes import DTYPES, Kind
from tensorsleuth.core.layout.rows import EventKind
from tensorsleuth.live.watch.event_files import EventFiles
from tensorsleuth.live.watch.options import Wanted
from tensorsleuth.live.watch.selection import WatchSelection
from tensorsleuth.live.watch.series import MOST, Book, Entry
from tensorsleuth.live.watch.variables import Variables
from tensorsleuth.native import loader
from tensorsleuth.recording.backends.sink import tensor_view
from tensorsleuth.recording.call_sites import caller_line
from tensorsleuth.recording.eager import tape_gradients
from tensorsleuth.recording.functions.descriptions import captured_variables
from tensorsleuth.recording.guard_protocol import Alarm
from tensorsleuth.recording.harmless import complain, harmless
from tensorsleuth.recording.recorder import Recorder
from tensorsleuth.recording.structure.selector import Subject
from tensorsleuth.recording.structure.tensor_roles import Subjects, TracedGradients
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.recording.tensorflow import variables as tf_variables
from tensorsleuth.recording.tensorflow.graph_points import LETTERBOX
from tensorsleuth.trace.storage.size_plan import WATCHED_CHUNK_ROWS, WATCHED_CHUNKS, WATCHED_VALUE_BYTES

NOT_GUARDS = 1 << 31  # native/src/observers/watches.h
_GIVEN = re.compile(r"__inference_(.+)_\d+")  # TensorFlow's name of a function -> the program's
FILES = ("watched.bin", "watched_value_rows.bin", "watched_values.bin")


class Watches:
    """Rides on the recording that there is."""

    alone = False

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._all: list[Wanted] = []
        self._book = Book()
        self._traced = TracedGradients()
        self._met: set[str] = set()  # functions whose variables are known
        self._announced: set[int] = set()  # series that the catalogue knows
        self._native: loader.Native | None = None
        self._variables: Variables | None = None
        self._events: EventFiles | None = None
        self.logdir: Path | None = None  # where event files go, if not into the run
        self.recorder: Recorder | None = None
        self.subjects = Subjects(self._traced, lambda uid: None)

    # ---- which there are

    def add(self, wanted: Wanted) -> None:
        with self._lock:
            self._all.append(wanted)
            self._again()

    def remove(self, wanted: Wanted) -> bool:
        """Take one away; True where nothing is watched any more."""
        with self._lock:
            harmless(self._step_ended, self._trained())
            if wanted in self._all:
                self._all.remove(wanted)
            self._book.drop(wanted)
            for entry in self._book.entries():
                self._plan(entry)
            return not any(entry.asked for entry in self._book.entries()) and not self._all

    def _again(self) -> None:
        """Something else is watched: look at every function and place anew."""
        recorder = self.recorder
        if recorder is not None:
            self._met.clear()
            recorder.ride(self, lambda base: WatchSelection(recorder.settings, base, self))

    # ---- where they watch

    def settle(self, recorder: Recorder) -> None:
        with self._lock:
            if self.recorder is not None or not self._can(recorder):
                return
            self.recorder, self._native = recorder, recorder.sink.native
            self._announced.clear()
            self.subjects = Subjects(self._traced, recorder.variables.path_of)
            assert self._native is not None
            self._variables = Variables(self._native)
            self._open(recorder.folder)
            for entry in self._book.entries():
                self._announce(entry)
            self._events = EventFiles(recorder.folder, self._book, self.logdir)
            recorder.hear_gradients(self, self._gradients)
            recorder.steps.moving[self] = lambda this, following: harmless(self._moving, this, following)
            recorder.callbacks.met[self] = self._function
            recorder.callbacks.trained[self] = self._came_back
            self._again()

    def _can(self, recorder: Recorder) -> bool:
        if recorder.sink.native is None:
            complain("watch needs the native library, which is not here: nothing is watched. See sleuth doctor.")
        return recorder.sink.native is not None and isinstance(recorder.folder, Path)

    def _open(self, folder: Any) -> None:
        assert self._native is not None
        paths = (str(folder / name).encode() for name in FILES)
        error = self._native.watch_open(*paths, WATCHED_CHUNK_ROWS, WATCHED_CHUNKS, WATCHED_VALUE_BYTES)
        if error:
            raise OSError(error, "cannot create the files for what is watched", str(folder))
        self._native.watch_forget()
        self._native.watch_activate(True)

    def leave(self) -> None:
        with self._lock:
            trained = self._trained()
            recorder, self.recorder = self.recorder, None
            if recorder is None or self._native is None:
                return
            for told in (recorder.steps.moving, recorder.callbacks.met, recorder.callbacks.trained):
                told.pop(self, None)
            recorder.hear_gradients(self, None)
            harmless(self._step_ended, trained)
            self._native.watch_activate(False)
            self._native.watch_forget()
            self._met.clear()
            recorder.ride(self, None)
            if self._events is not None:
                harmless(self._events.close)

    def move(self, logdir: Path) -> None:
        """Write event files there from now on."""
        self.logdir = logdir
        if self._events is not None:
            self._events.move(logdir)

    def abandon(self) -> None:
        """In a forked child: the files are the parent's."""
        self._lock = threading.RLock()
        self.recorder = self._native = self._variables = self._events = None

    # ---- series

    def series(self, kind: str, name: str, asking: list[Wanted], *place: Any) -> Entry | None:
        """The series of a watched thing, known to all who need to know it."""
        entry, changed = self._book.find(kind, name, asking, *place)
        if entry is None:
            complain(f"more than {MOST - 1:,} things are watched: others are left out. Watch for fewer names.")
        elif changed or entry.series.number not in self._announced:
            self._announce(entry)
        return entry

    def _announce(self, entry: Entry) -> None:
        self._plan(entry)
        series, recorder = entry.series, self.recorder
        if recorder is not None and series.number not in self._announced:
            self._announced.add(series.number)
            fields = {"id": series.number, "kind": series.kind, "name": series.name}
            recorder.catalog.series(fields | {"file": series.file, "line": series.line})

    def _plan(self, entry: Entry) -> None:
        if self._native is not None:
            self._native.watch_set(entry.series.number, entry.every, int(entry.what))

    # ---- tensors of functions, and of eager ops

    def placed(self, tensor: int, source: str, subject: Subject, dtype: int, own: bool) -> bool:
        """A tensor of a function gets this id; is it watched?"""
        asking = [wanted for wanted in list(self._all) if wanted.tensor(subject, dtype)]
        if not asking:
            return False
        entry = self.series(*_named(source, subject, asking), asking)
        if entry is not None and self._native is not None:
            self._native.watch_on(tensor, entry.series.number | (NOT_GUARDS if own else 0))
        return entry is not None

    def wants_eager(self, op: str, dtype: int) -> bool:
        known = DTYPES.get(dtype)
        number = known is not None and known.kind is not Kind.OTHER
        return number and any(wanted.tensor(Subject(op, op), dtype) for wanted in list(self._all))

    def placed_eager(self, op: str, first: int, outputs: int) -> None:
        asking = [wanted for wanted in list(self._all) if any(one.wants(Subject(op, op)) for one in wanted.selectors)]
        for output in range(outputs if asking else 0):
            entry = self.series("tensor", op if not output else f"{op}:{output}", asking, *caller_line())
            if entry is not None and self._native is not None:
                self._native.watch_on(first + output, entry.series.number)

    def refused(self, function: str, why: str) -> None:
        if any(wanted.inside for wanted in list(self._all)):
            name = _GIVEN.sub(r"\1", function)
            complain(f"watch does not see the inside of {name}: {why}; its variables it does, after each step.")

    # ---- variables, gradients

    def _function(self, name: str, find: Callable[[], Any], inputs: Sequence[Any]) -> None:
        """A function is about to be called: it may have variables that nobody has met."""
        recorder = self.recorder
        if name in self._met or recorder is None:
            return
        self._met.add(name)
        for number, (variable, trainable) in captured_variables(find(), recorder.variables.path_of).items():
            ours = LETTERBOX in variable
            if number < len(inputs) and isinstance(inputs[number], tf.EagerTensor) and not ours:
                self._variable(variable.removesuffix(":0"), inputs[number], trainable)

    def _variable(self, name: str, handle: Any, trainable: bool = True) -> None:
        known, recorder, dtype = self._variables, self.recorder, tf_variables.variable_dtype(handle)
        if known is None or recorder is None or dtype is None:
            return
        of_value = self._asked("variable", name, [one for one in self._all if one.variable(name, trainable)])
        of_update = self._asked("update", name, [one for one in self._all if one.update(name)])
        if (of_value or of_update) and DTYPES[dtype].kind is not Kind.OTHER:
            known.add(handle, dtype, of_value, of_update, recorder.steps.number)

    def _asked(self, kind: str, name: str, asking: list[Wanted]) -> Entry | None:
        return self.series(kind, name, asking) if asking else None

    def _gradients(self, sources: Any, gradients: Any) -> Alarm:
        """A tape has given gradients: named where a function is traced, looked at where code is eager."""
        for source, gradient in tape_gradients.pairs(sources, gradients):
            name = tape_gradients.name_of(source)
            if self.recorder is not None:
                self.recorder.variables.named(source)
            if isinstance(gradient, tf.EagerTensor):
                self._eager_gradient(name, source, gradient)
            elif hasattr(gradient, "graph"):
                self._traced.add(gradient, name)
        return None

    def _eager_gradient(self, name: str, source: Any, gradient: Any) -> None:
        handle = tape_gradients.handle_of(source)
        if handle is not None:
            self._variable(name, handle)
        asking = [wanted for wanted in list(self._all) if wanted.gradient(name)]
        entry = self.series("gradient", name, asking) if asking else None
        if entry is not None:
            self.saw(entry, gradient)

    def saw(self, entry: Entry, tensor: Any) -> None:
        """Look at an eager tensor of numbers, if its turn has come."""
        if self._native is not None and self._native.watch_due(entry.series.number):
            view, array = tensor_view(tensor)
            where = loader.Where(self._native.latest_call(), 0, 0, 0, EventKind.EAGER)
            self._native.watch_saw(entry.series.number, view, where)
            del array  # held its memory until here

    def saw_texts(self, entry: Entry, texts: list[bytes], shape: Sequence[int]) -> None:
        """The same for an eager tensor of texts."""
        if self._native is not None and self._native.watch_due(entry.series.number):
            data = b"".join(len(text).to_bytes(4, "little") + text for text in texts)
            view = loader.TensorView(None, max(1, len(texts)), 0, 7, len(shape))
            view.dims[: min(len(shape), 8)] = shape[:8]
            self._native.watch_text(entry.series.number, data, len(data), len(texts), view)

    # ---- steps

    def _moving(self, this: int, following: int) -> None:
        self._step_ended(this)
        if self._variables is not None:
            self._variables.begin(following)

    def _trained(self) -> int:
        """The step that is under way, where it has trained; else -1."""
        steps = self.recorder.steps if self.recorder is not None else None
        return steps.number if steps is not None and steps.count > steps.number else -1

    def _came_back(self) -> None:
        step = self._trained()
        if self._variables is not None and step >= 0:
            self._variables.trained(step)

    def _step_ended(self, step: int) -> None:
        if self._variables is not None and step >= 0:
            self._variables.ended(step)
        if self._events is not None and self._native is not None:
            self._events.write_soon(int(self._native.watch_rows()))


def _named(source: str, subject: Subject, asking: list[Wanted]) -> tuple[str, str]:
    """The kind and the name of the series that a tensor of a function belongs to."""
    if subject.is_gradient and any(one.gradient_tensor(subject) for one in asking):
        whose = subject.gradient_of[0]
        return "gradient", subject.name if subject.name in subject.gradient_of else whose
    number = source.rpartition(":")[2]
    return "tensor", subject.name if number in ("0", source) else f"{subject.name}:{number}"
