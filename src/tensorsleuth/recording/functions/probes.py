"""Selects the tensors to record in a function, and adds probes to its watched copy.

The copy has a new name, and the original stays unchanged. TensorFlow builds gradients and saves models from the
original, and we need not undo anything when the recording ends.
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
ARGUMENT_OP = "Argument"  # our own name for the op that gives an argument
DT_INT64 = 9
DO_NOT_LOOK = 255
GraphModes = Callable[[str, int, str], Mode | None]


@dataclass(frozen=True)
class FunctionInstance:
    """A function at one call site, about to be watched."""

    name: str
    definition: Definition
    graph: Any  # its Python graph; None if unknown
    instance: int
    first: int  # the id of its first tensor
    parent: int  # the calling instance; -1 if Python or a dataset calls it
    node: int  # the calling node in the parent
    of_dataset: bool  # whether a dataset calls it


@dataclass(frozen=True)
class Selection:
    """The tensors to record, and the mode for each."""

    settings: Settings

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        return re.compile(self.settings.op_regex or "")

    def mode_for(self, op: str, dtype: int) -> Mode | None:
        """Return the mode for an output of `op`, or None to skip it."""
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
        """Return the selection for a replayed call, which is recorded in full because it is only one call."""
        mode = self.settings.mode
        closely = DEFAULT_MODE if mode is Mode.FLIGHT else max(mode, DEFAULT_MODE)
        return Selection(replace(self.settings, mode=closely))

    @property
    def notes_op_ends(self) -> bool:
        """Return whether to record when ops without a recorded output end. For others, an output's row shows it."""
        return True

    def for_instance(self, function_instance: FunctionInstance) -> Selection:
        """Return the selection for a function at one call site."""
        return self

    def has_probe(self, source: str) -> bool:
        """Return whether an observer needs a probe behind a tensor that the recording does not select."""
        base = getattr(self, "base", None)
        return base is not None and bool(base.has_probe(source))

    def note_eager_site(self, op: str, first: int, outputs: int) -> None:
        """Note the output ids of a new call site of an eager op, or of a function that runs unwatched."""

    def note_refused(self, function: str, why: str) -> None:
        """Note that a function cannot be watched inside."""

    def for_function(self, definition: Definition) -> GraphModes:
        """Return the selection for the tensors of a function, by op, dtype and name."""
        return lambda op, dtype, name: self.mode_in_graph(op, dtype)

    def mode_in_graph(self, op: str, dtype: int) -> Mode | None:
        """Return the mode for an output in a graph; None if another tensor's row already has the same facts."""
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
    """Return the selection of a recording for eager ops, which cannot be replayed, and other unreplayable code."""
    return Selection(replace(settings, mode=DEFAULT_MODE) if settings.mode is Mode.FLIGHT else settings)


@dataclass(frozen=True)
class ProbeContext:
    """The attributes that the probes of one copy share."""

    session: int
    first: int  # the id of the instance's first tensor
    selection: Selection
    root: str | None  # the outermost function, which Python calls; None if a dataset calls it
    kept_slots: dict[str, int] = field(default_factory=dict)  # tensors to keep for a replay, with their slots
    renamed: dict[str, str] = field(default_factory=dict)  # outputs of nodes that a stand-in replaced


class Prober(Protocol):
    """A way to insert probes into a function."""

    def add_probes(
        self, definition: Definition, copy: Any, probe_context: ProbeContext, arguments: bool, called: set[int]
    ) -> None:
        """Add probes for the tensors of `copy`. `called` holds the nodes whose functions are watched themselves."""

    def join(self, copy: Any, session: int) -> None:
        """Make `copy` report its call, whose number is its last argument."""

    def took_effect(self, copy: str) -> bool:
        """Return whether the probes of `copy` worked, after it has run."""

    def fallback(self) -> Prober:
        """Return the prober to use if this one could not insert probes."""

    def forget(self, copy: str) -> None:
        """Forget a removed copy."""


class InPlaceProber:
    """Inserts probe nodes into the copy itself, if the graph optimizer is off or cannot be joined."""

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
            probes[-1].attr["argument"].i = int(op == ARGUMENT_OP)
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
    """Add an argument to the copy for the number of the call."""
    copy.signature.input_arg.add(name=CALL_ARGUMENT, type=DT_INT64)


def add_join(copy: Any, session: int) -> None:
    """Add a node to the copy that joins the call's number to TensorFlow's step id."""
    node = copy.node_def.add(name="sleuth/call", op="SleuthCall", input=[CALL_ARGUMENT])
    node.attr["session"].i = session
    keep_alive(copy, node.name)


def keep_alive(function: Any, node: str) -> None:
    """Make a node without outputs run whenever the function runs."""
    result = node.replace("/", "_")
    function.signature.control_output.append(result)
    function.control_ret[result] = node
    function.signature.is_stateful = True


def probe_candidates(definition: Definition, arguments: bool, called: set[int]) -> Any:
    """Yield every tensor that may get a probe: its number, its name, and its op's type, dtype and device."""
    if arguments:
        for number, argument in enumerate(definition.proto.signature.input_arg):
            yield number, argument.name, ARGUMENT_OP, argument.type, ""
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
    """Return the mode's number for a probe. Without a mode, the probe only keeps the tensor."""
    return DO_NOT_LOOK if look is None else int(look)


def set_probe_attributes(node: Any, tensor: int, dtype: int, look: Mode | None, probe_context: ProbeContext) -> None:
    node.attr["session"].i = probe_context.session
    node.attr["tensor"].i = probe_context.first + tensor
    node.attr["look"].i = mode_number(look)
    node.attr["dtype"].i = dtype
