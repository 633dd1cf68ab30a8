"""The lines of functions that were saved: loaded again, their ops have names, and no lines."""

from __future__ import annotations

import os
from typing import Any

from tensorsleuth.core.ops.function_names import program_name
from tensorsleuth.recording.call_sites import CallSites
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.trace.storage.catalog_writer import FrameKey

MAX_OPS = 200_000  # whose lines are kept
_UNKNOWN = 0
_Key = tuple[str, str]  # the function, and the name of the op
DEBUG_INFO = os.path.join("debug", "saved_model_debug_info.pb")  # in the folder of a SavedModel


class SavedLines:
    """Remembers the line of each op of a function that is saved, for when it is loaded.

    TensorFlow can save lines too, in `debug_info`. They are taken if their file has not changed since.
    """

    def __init__(self, call_sites: CallSites) -> None:
        self._sites = call_sites
        self._known: dict[_Key, int] = {}

    def note_saved(self, function: Any) -> None:
        """The program saves a function."""
        self._note(tf.as_text(function.name), function.graph)

    def _note(self, name: str, graph: Any) -> None:
        for op in graph.get_operations() if len(self._known) < MAX_OPS else ():
            self._add(name, op.name, self._sites.of_graph_op(op))
        for inner_name, inner in tf.inner_graphs(graph):
            self._note(inner_name, inner)

    def _add(self, function: str, node: str, site: int) -> None:
        """Keep the site of an op. A function that was traced twice may have been called from two lines."""
        key = program_name(function), node
        known = self._known.setdefault(key, site)
        if known != site and self._sites.innermost(known) != self._sites.innermost(site):
            self._known[key] = _UNKNOWN

    def note_loaded(self, folder: str, debug_info: Any) -> None:
        """The program loads a SavedModel. What it saved itself goes first."""
        stacks = _Stacks(debug_info, _modified(os.path.join(folder, DEBUG_INFO)))
        own = {function for function, _ in self._known}
        for name in stacks.names[: max(0, MAX_OPS - len(self._known))]:
            node, _, function = name.rpartition("@")
            frames = stacks.of(name) if function and program_name(function) not in own else []
            if frames:
                self._add(function, node, self._sites.intern(frames))

    def site(self, function: str, node: Any) -> int:
        """Return the site of a node of a loaded function; 0 if nothing alike was saved, or at several lines."""
        return self._known.get((program_name(function), node.name), _UNKNOWN)


class _Stacks:
    """The stacks in a `debug_info`, which has two forms: of TensorFlow 2.15, and with numbered frames."""

    def __init__(self, debug_info: Any, saved_at: float) -> None:
        self._info, self._saved_at = debug_info, saved_at
        self.names = [*debug_info.name_to_trace_id, *debug_info.traces]
        self._is_current: dict[int, bool] = {}

    def of(self, name: str) -> list[FrameKey]:
        """Return the frames of an op, outermost first; none if the file of one has changed since."""
        number = _entry(self._info.name_to_trace_id, name)
        stack = _entry(self._info.traces_by_id, number)
        stack = _entry(self._info.traces, name) if stack is None else stack
        if stack is None:
            return []
        by_id = self._info.frames_by_id
        frames = [by_id[at] for at in stack.frame_id if at in by_id] or list(stack.file_line_cols)
        if not all(self._has_not_changed(one.file_index) for one in frames):
            return []
        return [(self._info.files[one.file_index], one.line, one.func) for one in frames]

    def _has_not_changed(self, file: int) -> bool:
        if file not in self._is_current:
            known = 0 <= file < len(self._info.files)
            self._is_current[file] = known and _modified(self._info.files[file]) <= self._saved_at
        return self._is_current[file]


def _modified(path: str) -> float:
    """Return when a file was changed last; 0 if it is not on this machine."""
    try:
        return os.path.getmtime(path)
    except OSError:
        return 0.0


def _entry(entries: Any, key: Any) -> Any | None:
    """Return an entry of a map of a protocol buffer, which is added if it is read and is not there."""
    return entries[key] if key is not None and key in entries else None
