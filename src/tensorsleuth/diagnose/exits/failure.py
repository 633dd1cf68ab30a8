"""A program that died of a TensorFlow error: which op of the user's raised it, and why, in plain words."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tensorsleuth.core.catalog import Failure, Instance, Node, Site
from tensorsleuth.core.error_text import MARKS
from tensorsleuth.core.finding import Evidence
from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.diagnose.exits.allocation import wanted
from tensorsleuth.diagnose.exits.unrecorded_inputs import unseen_inputs
from tensorsleuth.diagnose.graph.position_table import CAUSE as POSITIONS
from tensorsleuth.diagnose.graph.position_table import beyond_positions
from tensorsleuth.trace.dataflow.call_graph import Moments
from tensorsleuth.trace.dataflow.observed import Observed
from tensorsleuth.trace.process.layers import Layers
from tensorsleuth.trace.process.process import ProcessTrace

RECENT = 3  # calls at the end among which the one is that the program died of
UNKNOWN = "tensorflow-error"
LOST = "worker-lost"
OUT_OF_MEMORY = "out-of-memory"
OF_BAD_VALUES = (UNKNOWN, "singular-matrix")  # errors that a NaN further up may have led to
OF_AN_EXPECTATION = "tensorsleuth: violation "  # what stopped it is a finding of its own; see native/src/ops/expect.cc
_ASSERTED = re.compile(
    r"assertion failed: \[(?!Condition )(.+?)\](?= \[|\s|$)", re.S
)  # what was to hold, before what was seen
_TENSOR = re.compile(r" ?\(Tensor\(.*?dtype=\w+\)\)", re.S)
_NODE = re.compile(r"\{\{node ([^}]+)\}\}")


@dataclass(frozen=True)
class Kind:
    """A sort of error: what its message says, what it means, what to change."""

    pattern: re.Pattern[str]
    cause: str
    words: str
    fix: str | None


_KINDS = tuple(
    Kind(re.compile(pattern, re.S), cause, words, fix)
    for pattern, cause, words, fix in (
        (r"Connection reset by peer|Connection refused|Socket closed|[Cc]ollective ops (is|are|has been) aborted|"
         r"failed to connect to all addresses|[Hh]eartbeat timeout|remote task|/job:\w+/.*(unavailable|UNAVAILABLE)",
         LOST, "lost another worker",
         "look at the worker that ended first: it was killed, ran out of memory or crashed"),
        (r"label value of .* outside the valid range|Received a label value", "label-out-of-range",
         "got a label outside the range of classes",
         "labels must be 0 … classes − 1: count the classes again, or shift labels that start at 1"),
        (r"indices\[.*\] = .* is not in \[|out of bound|slice index .* out of", "index-out-of-range",
         "got an index out of range",
         "make the table as large as the largest index + 1, or keep the index within it"),
        (r"[Ii]nteger division by zero|[Dd]ivision by zero", "integer-division",
         "divided an integer by 0",
         "integers have no infinity: guard the divisor, tf.maximum(n, 1), or divide as floats"),
        (r"[Uu]ninitialized|does not exist.*[Vv]ariable|Could not find variable", "uninitialised",
         "read an uninitialized variable",
         "initialize it before it is read; build the model before its weights are used"),
        (r"not invertible|Cholesky decomposition was not successful|not positive definite", "singular-matrix",
         "got a matrix that cannot be factored",
         "add a little to its diagonal (x + 1e-6 * tf.eye(n)); look for rows that are equal, and for NaN in it"),
        (r"OOM|exhausted|allocat", OUT_OF_MEMORY, "ran out of memory", "use a smaller batch or sequence"),
        (r"must be smaller than the embedding layer\W+s input dimension", "index-out-of-range",
         "got ids beyond the rows of its embedding",
         "after words were added to a tokenizer, model.resize_token_embeddings(len(tokenizer)); else use the tokenizer "
         "that the model was made with"),
        (r"assertion failed:.*Condition x [<>]=? y did not hold", UNKNOWN, "failed an assertion",
         None),
        (r"Tensor had [-+]?(NaN|Inf)", UNKNOWN, "refused a value that is NaN or infinite", None),
        (r"[Ii]ncompatible|must be equal|should match|[Dd]imension|shape|rank|Matrix size", "shape-mismatch",
         "got shapes that do not fit together",
         "print the shapes that meet there; a batch, padding or axis is not what the op expects"),
    )
)  # fmt: skip
_OTHER = Kind(re.compile(""), UNKNOWN, "raised an error", None)


@dataclass(frozen=True)
class Death:
    """The error that ended the program."""

    failure: Failure
    kind: Kind
    op: str
    name: str
    site: Site | None
    step: int | None
    inputs: tuple[Observed, ...]
    layer: str | None = None
    numbers: tuple[int | None, ...] = ()  # of the inputs: their places among the events
    unseen: tuple[Evidence, ...] = ()  # inputs without rows, as far as something is known of them

    @property
    def words(self) -> str:
        """Return what the op did; if memory ran out, with the allocation."""
        return f"{self.kind.words} making {self.making}" if self.making else self.kind.words

    @property
    def making(self) -> str | None:
        """Return the allocation that failed, if memory ran out."""
        return wanted(self.failure.message) if self.kind.cause == OUT_OF_MEMORY else None

    @property
    def message(self) -> str:
        """The sentence of TensorFlow's message that says it."""
        if self.making:
            return "OOM when allocating it"
        asserted = _ASSERTED.search(self.failure.message)
        if asserted is not None:
            return _TENSOR.sub("", asserted.group(1)).replace("\\'", "'")
        lines = MARKS.sub("", self.failure.message.split("[[")[0]).strip().splitlines()
        told = [line.strip() for line in lines if not line.startswith("The error could be from a previous operation")]
        return told[-1] if told else ""


def kind_of(message: str) -> Kind:
    """Return the kind of error that a message of TensorFlow's tells of."""
    return next((kind for kind in _KINDS if kind.pattern.search(message)), _OTHER)


def find_death(process: ProcessTrace, exit_code: int | None) -> Death | None:
    """The TensorFlow error that the program, or a thread of it, died of; None where there is none."""
    failures = [one for one in process.catalogue.failures if OF_AN_EXPECTATION not in one.message]
    failure = (
        failures[-1] if exit_code and failures and _is_last(process, failures[-1]) else _of_thread(process, failures)
    )
    if failure is None:
        return None
    kind = kind_of(failure.message)
    place = node_of(process, failure)
    moments, layers = Moments(process), Layers(process.catalogue)
    step = moments.calls.step(failure.call)
    if place is None:
        op = process.catalogue.eager.get(failure.op)
        site = process.catalogue.sites.get(op.site) if op is not None else None
        layer = layers.of_eager(op) if op is not None else None
        kind_of_op, name = (op.type, op.type) if op is not None else (failure.type, "?")
        return Death(failure, _closer(kind, failure, (), moments), kind_of_op, name, site, step, (), layer)
    instance, number, node = place
    slots = moments.of_call(failure.call).slots_of(instance, number, None)
    site = process.catalogue.sites.get(node.forward.site if node.forward is not None else node.site)
    shown = [[one for one in slot[:1] if one.looked or one.constant] for slot in slots]
    inputs = tuple(one for slot in shown for one in slot)
    unseen = unseen_inputs(process, failure, instance, node, [bool(slot) for slot in shown])
    layer = layers.of_node(process.catalogue.functions[instance.function], node)
    numbers = tuple(moments.number(one) for one in inputs)
    kind = _closer(kind, failure, inputs, moments)
    return Death(failure, kind, node.type, node.name, site, step, inputs, layer, numbers, unseen)


def _closer(kind: Kind, failure: Failure, inputs: tuple[Observed, ...], moments: Moments) -> Kind:
    """Return a more specific kind if the index is known."""
    beyond = beyond_positions(failure, inputs, moments)
    return replace(kind, cause=POSITIONS, words=beyond.words, fix=beyond.fix) if beyond is not None else kind


def _of_thread(process: ProcessTrace, failures: list[Failure]) -> Failure | None:
    """That which nobody in a thread caught: Python prints it, and the program goes on."""
    said = str(process.catalogue.meta.get("thread_died_of") or "")
    return next((failure for failure in reversed(failures) if said and failure.message in said), None)


def _is_last(process: ProcessTrace, failure: Failure) -> bool:
    calls = process.calls[process.calls["kind"] != CallKind.JOIN]
    return len(calls) > 0 and int(calls["call"].max()) - failure.call <= RECENT


def node_of(process: ProcessTrace, failure: Failure) -> tuple[Instance, int, Node] | None:
    """The node that the message names."""
    catalogue = process.catalogue
    for name in _NODE.findall(failure.message):
        for instance in reversed(catalogue.instances.values()):
            function = catalogue.functions.get(instance.function)
            for number, node in enumerate(function.nodes if function is not None else ()):
                if name == node.name or name.endswith("/" + node.name):
                    return instance, number, node
    return None
