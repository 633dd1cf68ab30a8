"""The catalogue that the rows of a trace refer to: source lines, functions and their nodes, eager ops."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tensorsleuth.core.replay_outcome import Replay
from tensorsleuth.core.series import LogMessage, Series
from tensorsleuth.core.texts import TextSummary
from tensorsleuth.core.violation import Violation

OPERATION = "operation"  # the kind of a creation: a call of `keras.ops` in a functional model
TENSOR_ID_LIMIT = 1 << 32  # ids have 32 bits
_FORWARD_PREFIX = "__forward_"  # TensorFlow's name of a function that a tape differentiates from outside


@dataclass(frozen=True, slots=True)
class Span:
    """An expression of a file. Columns count bytes of UTF-8 from 0, as Python's own do."""

    line: int
    column: int
    end_line: int
    end_column: int  # behind its last letter


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of a call stack."""

    file: str
    line: int
    function: str
    span: Span | None = field(default=None, compare=False)  # the expression, where Python told
    shown_at: Frame | None = field(default=None, compare=False)  # of a line that made something: where it is used
    layer: str | None = field(default=None, compare=False)  # of the op that it is the line of


@dataclass(frozen=True, slots=True)
class Creation:
    """The expression of the program that made a layer, a model, an operation of Keras's, an optimizer or a loss."""

    kind: str  # layer, model, operation, optimizer, loss or compile
    name: str
    type: str  # the name of its class
    frame: Frame


@dataclass(frozen=True, slots=True)
class Site:
    """The place in the program that made an op: its stack, outermost first."""

    id: int
    frames: tuple[Frame, ...]
    user_index: int  # index of the frame to show to the user, -1 if there is none

    @property
    def frame(self) -> Frame | None:
        """The innermost frame in the user's own code."""
        return self.frames[self.user_index] if self.user_index >= 0 else None


@dataclass(frozen=True, slots=True)
class ForwardOp:
    """The op that a gradient op differentiates."""

    graph: int  # key of its graph, -1 for an eager op
    name: str
    type: str
    site: int


@dataclass(frozen=True, slots=True)
class Node:
    """An op in a function."""

    name: str
    type: str
    device: str
    inputs: tuple[tuple[int, int], ...]  # (node, output), or (-1 - argument, 0)
    controls: tuple[int, ...]
    attrs: dict[str, Any]
    site: int
    forward: ForwardOp | None
    dtypes: tuple[int, ...]  # of its outputs
    first_output: int  # its number among the outputs of all arguments and nodes


@dataclass(frozen=True, slots=True)
class Function:
    """A traced function, as TensorFlow runs it before optimisation."""

    id: int
    name: str
    graph: int  # key of the Python graph it was made from, -1 if unknown
    arguments: tuple[str, ...]
    argument_dtypes: tuple[int, ...]
    captures: dict[int, dict[str, Any]]  # argument -> facts about the captured tensor (a variable's name, shape)
    nodes: tuple[Node, ...]
    returns: tuple[tuple[int, int], ...]
    kind: str  # train, backward, write or plain
    tensors: int  # number of tensor ids of an instance
    argument_shapes: tuple[tuple[int, ...] | None, ...] = ()  # the shapes it was traced for; -1 for any size
    elements: tuple[str, ...] = ()  # the parts of what it takes from a dataset itself: `0/token_ids`, `1`

    @property
    def trains(self) -> bool:
        """Return whether gradients are computed in it, or of it by a tape outside."""
        return self.kind == "train" or self.name.startswith(_FORWARD_PREFIX)

    def number(self, node: Node) -> int:
        """Return the position of a node in `nodes`, which are ordered by their first output."""
        at = bisect_left(self.nodes, node.first_output, key=lambda other: other.first_output)
        return next(n for n in range(at, len(self.nodes)) if self.nodes[n] is node)


@dataclass(frozen=True, slots=True)
class Instance:
    """A call site of a function. Each has its own tensor ids."""

    id: int
    function: int
    parent: int  # the calling instance, -1 if Python or a dataset calls it
    node: int  # the calling node in the parent
    first_tensor: int  # its first tensor id


@dataclass(frozen=True, slots=True)
class EagerOp:
    """An op or function that Python called from one line of the program."""

    id: int
    type: str
    site: int
    first_tensor: int  # id of its first output
    outputs: int
    instance: int = -1  # of a watched function
    forward: int = -1  # the eager op that it differentiates
    scope: str = ""  # the name scope of the call, with a slash at its end

    @property
    def tensor_bounds(self) -> tuple[int, int]:
        """Return the first id of its outputs and the id after the last, in 32 bits even for a damaged file."""
        first = min(max(self.first_tensor, 0), TENSOR_ID_LIMIT)
        return first, min(first + max(self.outputs, 0), TENSOR_ID_LIMIT)


@dataclass(frozen=True, slots=True)
class UnusedTapeVariables:
    """Variables that tapes of eager code watched, without a request for their gradients, while others had one."""

    shapes: dict[int, tuple[int, ...]]  # by uid
    names: dict[int, str]  # TensorFlow's names
    differentiated: tuple[int, ...]  # uids of the variables with gradients


@dataclass(frozen=True, slots=True)
class MissingGradient:
    """A trainable variable for which every tape that was asked about it returned None."""

    uid: int
    name: str  # TensorFlow's
    shape: tuple[int, ...]
    site: int  # that asked first
    op: int  # the eager op that made the loss; 0 in a function
    loss: str  # the name of the op in a function that made it


@dataclass(frozen=True, slots=True)
class IdleUpdate:
    """An op of an optimizer that no session runs, though sessions fetch the loss."""

    op: str  # its name
    site: int
    loss: str  # the name of the op whose output is fetched
    instance: int  # of the run that fetches it


@dataclass(frozen=True, slots=True)
class FailedCall:
    """An eager call that raised."""

    call: int
    op: int
    type: str
    message: str
    inputs: tuple[str, ...]  # in words
    makers: tuple[int, ...] = ()  # for each input the eager op that made it, 0 if it is not known
    uids: tuple[int, ...] = ()  # of the inputs of an op that failed; a function's are those of its call


@dataclass(frozen=True, slots=True)
class FunctionTrace:
    """One trace of a tf.function, at its first call."""

    name: str
    call: int
    arguments: tuple[tuple[str, str], ...]  # their names, and their types in TensorFlow's words
    file: str | None  # of the Python function
    line: int | None
    function: str
    owner: int  # the tf.function: each instance of a class has its own for a method
    made: Frame | None = None  # the expression that made the tf.function
    made_after: int | None = None  # how many traces there were when it was made


@dataclass(frozen=True, slots=True)
class BadRead:
    """An eager tensor with a NaN or an infinity that became a Python number: `numpy()`, `float()`, `print`."""

    uid: int
    site: int
    has_nan: bool
    has_finite: bool


@dataclass(slots=True)
class Catalogue:
    """All entries of a catalogue, by id."""

    meta: dict[str, Any] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    sites: dict[int, Site] = field(default_factory=dict)
    functions: dict[int, Function] = field(default_factory=dict)
    instances: dict[int, Instance] = field(default_factory=dict)
    eager: dict[int, EagerOp] = field(default_factory=dict)
    datasets: dict[int, tuple[str, int]] = field(
        default_factory=dict
    )  # instance -> the dataset op that runs it, its site
    scopes: dict[int, dict[str, str]] = field(default_factory=dict)  # graph or -1 -> the program's names of its scopes
    variables: dict[int, tuple[str, str]] = field(default_factory=dict)  # uid -> name and role, as Keras has them
    creations: list[Creation] = field(default_factory=list)  # in the order in which they were made
    unused_tape_variables: list[UnusedTapeVariables] = field(default_factory=list)
    losses: dict[int, set[int]] = field(default_factory=dict)  # eager op (0: in a function) -> variables, by uid
    missing_gradients: dict[int, MissingGradient] = field(default_factory=dict)  # by uid
    idle_updates: dict[int, IdleUpdate] = field(default_factory=dict)  # by graph
    failures: list[FailedCall] = field(default_factory=list)
    hidden_failures: list[FailedCall] = field(
        default_factory=list
    )  # calls that XLA computes silently, but that raise uncompiled
    violations: list[Violation] = field(default_factory=list)
    replays: dict[int, Replay] = field(default_factory=dict)  # by call
    traces: list[FunctionTrace] = field(default_factory=list)
    bad_reads: dict[int, BadRead] = field(default_factory=dict)  # by uid
    not_covered: list[dict[str, Any]] = field(default_factory=list)
    steps: list[dict[str, Any]] = field(default_factory=list)
    series: dict[int, Series] = field(default_factory=dict)  # watched series
    logs: list[LogMessage] = field(default_factory=list)
    texts: dict[int, TextSummary] = field(default_factory=dict)  # in the order in which they were recorded
    patterns: set[str] = field(default_factory=set)  # at which eager code splits texts, or that it replaces

    def called_functions(self) -> Iterator[tuple[Instance, Function]]:
        """Return every call site of a function, with the function."""
        for instance in self.instances.values():
            function = self.functions.get(instance.function)
            if function is not None:
                yield instance, function
