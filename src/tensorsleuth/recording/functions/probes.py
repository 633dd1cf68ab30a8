"""Makes the watched copy of a function: the same nodes, with a probe behind each tensor that is worth a look.

The copy has a new name and lives beside the original, which stays as it is: gradients are built, models saved and
functions differentiated on the clean one, and switching the recording off needs no undoing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

from tensorsleuth.core.dtypes import DTYPES, DTypeKind, is_float
from tensorsleuth.core.modes import DEFAULT_MODE, Mode
from tensorsleuth.core.ops import kinds as ops
from tensorsleuth.recording.functions.function_def import Definition
from tensorsleuth.recording.settings import Settings
from tensorsleuth.recording.tensorflow import internals as tf

CALL_ARGUMENT = "sleuth_call"
DT_INT64 = 9
DO_NOT_LOOK = 255
GraphModes = Callable[[str, int, str], Mode | None]


@dataclass(frozen=True)
class FunctionInstance:
    """A function at one place that calls it, about to be watched."""

    name: str
    definition: Definition
    graph: Any  # the Python graph it was made from; None where that is not known
    instance: int
    first: int  # its first tensor id
    parent: int  # the instance that calls it, -1 where Python or a dataset does
    node: int  # the calling node in the parent
    of_dataset: bool  # does a dataset call it


@dataclass(frozen=True)
class Selection:
    """The tensors to record, and the mode for each."""

    settings: Settings

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        return re.compile(self.settings.op_regex or "")

    def mode_for(self, op: str, dtype: int) -> Mode | None:
        """Return the mode for an output of `op`, or None."""
        if not self._regex.match(op) or not self._wants(dtype):
            return None
        mode = self.settings.mode
        known = DTYPES.get(dtype)
        if known is None or known.kind is DTypeKind.OTHER:
            return None
        if is_float(dtype) or mode in (Mode.FULL_NUMERICS, Mode.FULL_TENSOR, Mode.SHAPE):
            return mode
        return Mode.NO_TENSOR if mode is Mode.NO_TENSOR else None

    def for_replay(self) -> Selection:
        """Return the mode for a replayed call: it is a single call, so it is recorded in full."""
        mode = self.settings.mode
        closely = DEFAULT_MODE if mode is Mode.FLIGHT else max(mode, DEFAULT_MODE)
        return Selection(replace(self.settings, mode=closely))

    @property
    def notes_op_ends(self) -> bool:
        """Are the ends of ops noted that put nothing out: where rows tell when the others ended."""
        return True

    def for_instance(self, function_instance: FunctionInstance) -> Selection:
        """Return the selection for a function at one call site."""
        return self

    def has_probe(self, source: str) -> bool:
        """Does a probe stand behind a tensor though the recording does not look at it: somebody else does."""
        base = getattr(self, "base", None)
        return base is not None and bool(base.has_probe(source))

    def note_eager_site(self, op: str, first: int, outputs: int) -> None:
        """An eager op, or a function that runs unwatched, is called from a new place; its outputs get these ids."""

    def note_refused(self, function: str, why: str) -> None:
        """A function is not looked into."""

    def for_function(self, definition: Definition) -> GraphModes:
        """Return the selection for the tensors of a function, by op, dtype and name."""
        return lambda op, dtype, name: self.mode_in_graph(op, dtype)

    def mode_in_graph(self, op: str, dtype: int) -> Mode | None:
        """Leaves out what another tensor's row already tells."""
        mode = self.settings.mode
        if op in ops.STATIC_VALUES or op in ops.CONTROL_FLOW or op in ops.TENSOR_ARRAYS:
            return None
        if op in ops.VIEWS and mode not in (Mode.SHAPE, Mode.FULL_TENSOR):
            return None
        if op in ops.KEEP_FINITE and mode is Mode.CURT_HEALTH:
            return None
        return self.mode_for(op, dtype)

    def _wants(self, dtype: int) -> bool:
        wanted = self.settings.tensor_dtypes
        if wanted is None:
            return True
        if callable(wanted):
            known = tf.as_dtype(dtype)
            return known is not None and bool(wanted(known))
        return dtype in DTYPES and DTYPES[dtype].name in wanted


def selection_for(settings: Settings) -> Selection:
    """Return the selection of a recording outside of replayable functions: eager ops cannot be run again."""
    return Selection(replace(settings, mode=DEFAULT_MODE) if settings.mode is Mode.FLIGHT else settings)


@dataclass(frozen=True)
class ProbeContext:
    """The attributes that the probes of one copy share."""

    session: int
    first: int  # the instance's first tensor id
    selection: Selection
    root: str | None  # the function that Python calls and these belong to; None where a dataset calls it
    kept_slots: dict[str, int] = field(default_factory=dict)  # tensors to keep, and the slots to keep them in
    renamed: dict[str, str] = field(default_factory=dict)  # outputs whose node was replaced by a stand-in


class Prober(Protocol):
    """A way to get probes into a function."""

    def add_probes(
        self, definition: Definition, copy: Any, probe_context: ProbeContext, arguments: bool, called: set[int]
    ) -> None:
        """Have the tensors of `copy` looked at. `called` are the nodes whose functions are watched themselves."""

    def join(self, copy: Any, session: int) -> None:
        """Have `copy` say which call it runs for; the call's number is its last argument."""

    def took_effect(self, copy: str) -> bool:
        """After `copy` has run: did its probes?"""

    def fallback(self) -> Prober:
        """Return the backend to use if probes could not be placed."""

    def forget(self, copy: str) -> None:
        """The copy is gone."""


class InPlaceProber:
    """Puts probe nodes into the copy itself: where the graph optimizer is off, or cannot be joined."""

    def add_probes(
        self, definition: Definition, copy: Any, probe_context: ProbeContext, arguments: bool, called: set[int]
    ) -> None:
        used = used_tensors(copy)
        look_at = probe_context.selection.for_function(definition)
        names: dict[str, str] = {}
        probes: list[Any] = []
        for tensor, source, op, dtype, device in probe_candidates(definition, arguments, called):
            look = look_at(op, dtype, source)
            hold = probe_context.kept_slots.get(source, 0)
            asked = bool(hold) or look is not None or probe_context.selection.has_probe(source)
            source = probe_context.renamed.get(source, source)
            if not asked or source not in used:
                continue
            probes.append(_probe(source, tensor, dtype, device, look, probe_context))
            probes[-1].attr["hold"].i = hold
            names[source] = f"{probes[-1].name}:y:0"
        redirect(copy, names)
        copy.node_def.extend(probes)

    def join(self, copy: Any, session: int) -> None:
        add_join(copy, session)

    def took_effect(self, copy: str) -> bool:
        return True

    def fallback(self) -> Prober:
        return self

    def forget(self, copy: str) -> None:
        pass


def add_call_argument(copy: Any) -> None:
    """Give the copy one more argument: the number of the call."""
    copy.signature.input_arg.add(name=CALL_ARGUMENT, type=DT_INT64)


def add_join(copy: Any, session: int) -> None:
    """Have the copy join the number of the call to TensorFlow's step id."""
    node = copy.node_def.add(name="sleuth/call", op="SleuthCall", input=[CALL_ARGUMENT])
    node.attr["session"].i = session
    keep_alive(copy, node.name)


def keep_alive(function: Any, node: str) -> None:
    """Make a node without outputs run whenever the function does."""
    result = node.replace("/", "_")
    function.signature.control_output.append(result)
    function.control_ret[result] = node
    function.signature.is_stateful = True


def probe_candidates(definition: Definition, arguments: bool, called: set[int]) -> Any:
    """Every tensor a probe could stand behind: its number, its name, and its op's type, dtype and device."""
    if arguments:
        for number, argument in enumerate(definition.proto.signature.input_arg):
            yield number, argument.name, "Argument", argument.type, ""
    for number, node in enumerate(definition.proto.node_def):
        if number in called:
            continue
        for index, (name, dtype) in enumerate(definition.output_names(number)):
            yield definition.first_outputs[number] + index, name, node.op, dtype, node.device


def used_tensors(function: Any) -> set[str]:
    used = {text for node in function.node_def for text in node.input}
    return used.union(function.ret.values())


def redirect(function: Any, names: dict[str, str]) -> None:
    for node in function.node_def:
        for at, text in enumerate(node.input):
            if text in names:
                node.input[at] = names[text]
    for result, text in function.ret.items():
        if text in names:
            function.ret[result] = names[text]


def _probe(source: str, tensor: int, dtype: int, device: str, look: Mode | None, probe_context: ProbeContext) -> Any:
    node = tf.NodeDef(name=f"sleuth/{tensor}", op="SleuthProbe", input=[source], device=device)
    node.attr["T"].type = dtype
    set_probe_attributes(node, tensor, dtype, look, probe_context)
    return node


def mode_number(look: Mode | None) -> int:
    """Return the number of a mode for a probe; a probe may exist only to keep the tensor."""
    return DO_NOT_LOOK if look is None else int(look)


def set_probe_attributes(node: Any, tensor: int, dtype: int, look: Mode | None, probe_context: ProbeContext) -> None:
    node.attr["session"].i = probe_context.session
    node.attr["tensor"].i = probe_context.first + tensor
    node.attr["look"].i = mode_number(look)
    node.attr["dtype"].i = dtype
