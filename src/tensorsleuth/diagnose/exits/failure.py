"""A program that a TensorFlow error ended: the user's op that raised it, and the reason in plain words."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from tensorsleuth.core.catalog import FailedCall, Instance, Node, Site
from tensorsleuth.core.error_text import NODE_MARKS
from tensorsleuth.core.finding import Evidence
from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.diagnose.cluster import WORKER_LOST
from tensorsleuth.diagnose.exits.allocation import requested_tensor
from tensorsleuth.diagnose.exits.unrecorded_inputs import unrecorded_inputs
from tensorsleuth.diagnose.graph.position_table import POSITION_CAUSE as POSITIONS
from tensorsleuth.diagnose.graph.position_table import position_overrun
from tensorsleuth.trace.dataflow.call_graph import CallGraphs
from tensorsleuth.trace.dataflow.observed_tensor import ObservedTensor
from tensorsleuth.trace.process.layers import LayerLookup
from tensorsleuth.trace.process.process import ProcessTrace

MAX_CALLS_AFTER = 3  # calls at the end among which the one is that the program died of
UNKNOWN_ERROR = "tensorflow-error"
DTYPE_MISMATCH = "dtype-mismatch"
UNFED = "was not fed"  # what a placeholder without a value did
OUT_OF_MEMORY = "out-of-memory"
INDEX_OUT_OF_RANGE = "index-out-of-range"
LABEL_OUT_OF_RANGE = "label-out-of-range"
MAY_FOLLOW_BAD_VALUE = (UNKNOWN_ERROR, "singular-matrix")  # errors that a NaN further up may have led to
VIOLATION_MARK = "tensorsleuth: violation "  # what stopped it is a finding of its own; see native/src/ops/expect.cc
_ASSERTION = re.compile(
    r"assertion failed: \[(?!Condition )(.+?)\](?= \[|\s|$)", re.S
)  # what was to hold, before what was seen
_TENSOR = re.compile(r" ?\(Tensor\(.*?dtype=\w+\)\)", re.S)
_NODE = re.compile(r"\{\{node ([^}]+)\}\}")


@dataclass(frozen=True)
class ErrorKind:
    """A kind of error: the pattern of its message, the meaning, and the fix."""

    pattern: re.Pattern[str]
    cause: str
    words: str
    fix: str | None


_ERROR_KINDS = tuple(
    ErrorKind(re.compile(pattern, re.S), cause, words, fix)
    for pattern, cause, words, fix in (
        (r"Connection reset by peer|Connection refused|Socket closed|[Cc]ollective ops (is|are|has been) aborted|"
         r"failed to connect to all addresses|[Hh]eartbeat timeout|remote task|/job:\w+/.*(unavailable|UNAVAILABLE)",
         WORKER_LOST, "lost another worker",
         "look at the worker that ended first: it was killed, ran out of memory or crashed"),
        (r"label value of .* outside the valid range|Received a label value", LABEL_OUT_OF_RANGE,
         "got a label outside the range of classes",
         "labels must be 0 … classes − 1: count the classes again, or shift labels that start at 1"),
        (r"indices(\[.*\])? = .* is not in \[|does not index into|out of bound|slice index .* out of|"
         r"segment_ids\[.*\] = .* is out of range|but list with \d+ elements|array size is", INDEX_OUT_OF_RANGE,
         "got an index out of range",
         "make the table as large as the largest index + 1, or keep the index within it"),
        (r"[Ii]nteger division by zero|[Dd]ivision by zero", "integer-division",
         "divided an integer by 0",
         "integers have no infinity: guard the divisor, tf.maximum(n, 1), or divide as floats"),
        (r"[Uu]ninitialized|does not exist.*[Vv]ariable|Could not find variable", "uninitialised",
         "read an uninitialized variable",
         "initialize it before it is read: in a session run global_variables_initializer() after all variables are "
         "made, and local_variables_initializer() for metrics; build a model before its weights are used"),
        (r"not invertible|Cholesky decomposition was not successful|not positive definite", "singular-matrix",
         "got a matrix that cannot be factored",
         "add a little to its diagonal (x + 1e-6 * tf.eye(n)); look for rows that are equal, and for NaN in it"),
        (r"OOM|exhausted|allocat", OUT_OF_MEMORY, "ran out of memory", "use a smaller batch or sequence"),
        (r"must be smaller than the embedding layer\W+s input dimension", INDEX_OUT_OF_RANGE,
         "got ids beyond the rows of its embedding",
         "after words were added to a tokenizer, model.resize_token_embeddings(len(tokenizer)); else use the tokenizer "
         "that the model was made with"),
        (r"was expected to be an? \w+ tensor but is an? \w+ tensor|is not in the list of allowed values",
         DTYPE_MISMATCH, "got a dtype that does not fit", "cast one of its inputs with tf.cast"),
        (r"You must feed a value for placeholder", UNKNOWN_ERROR, UNFED,
         "give it a value in feed_dict, or fetch nothing that depends on it"),
        (r"assertion failed:.*Condition x [<>]=? y did not hold", UNKNOWN_ERROR, "failed an assertion",
         None),
        (r"Tensor had [-+]?(NaN|Inf)", UNKNOWN_ERROR, "refused a value that is NaN or infinite", None),
        (r"[Ii]ncompatible|must be equal|should match|[Dd]imension|shape|rank|Matrix size", "shape-mismatch",
         "got shapes that do not fit together",
         "print the shapes that meet there; a batch, padding or axis is not what the op expects"),
    )
)  # fmt: skip
_OTHER_ERROR = ErrorKind(re.compile(""), UNKNOWN_ERROR, "raised an error", None)


@dataclass(frozen=True)
class FatalError:
    """The error that ended the program."""

    failure: FailedCall
    kind: ErrorKind
    op: str
    name: str
    site: Site | None
    step: int | None
    inputs: tuple[ObservedTensor, ...]
    layer: str | None = None
    event_indexes: tuple[int | None, ...] = ()  # of the inputs: their places among the events
    unrecorded: tuple[Evidence, ...] = ()  # inputs without rows, as far as something is known of them
    node: tuple[Instance, int] | None = None  # the op in its function; None for one of eager code

    @property
    def words(self) -> str:
        """Return what the op did; if memory ran out, with the allocation."""
        return f"{self.kind.words} making {self.failed_allocation}" if self.failed_allocation else self.kind.words

    @property
    def failed_allocation(self) -> str | None:
        """Return the allocation that failed, if memory ran out."""
        return requested_tensor(self.failure.message) if self.kind.cause == OUT_OF_MEMORY else None

    @property
    def message(self) -> str:
        """Return the sentence of TensorFlow's message that states the error."""
        if self.failed_allocation:
            return "OOM when allocating it"
        asserted = _ASSERTION.search(self.failure.message)
        if asserted is not None:
            return _TENSOR.sub("", asserted.group(1)).replace("\\'", "'")
        lines = NODE_MARKS.sub("", self.failure.message.split("[[")[0]).strip().splitlines()
        told = [line.strip() for line in lines if not line.startswith("The error could be from a previous operation")]
        return told[-1] if told else ""


def error_kind(message: str) -> ErrorKind:
    """Return the kind of error that a message of TensorFlow's tells of."""
    return next((kind for kind in _ERROR_KINDS if kind.pattern.search(message)), _OTHER_ERROR)


def find_fatal_error(process: ProcessTrace, exit_code: int | None) -> FatalError | None:
    """Return the TensorFlow error that ended the program or one of its threads; None if there is none."""
    failures = [one for one in process.catalogue.failures if VIOLATION_MARK not in one.message]
    failure = (
        failures[-1]
        if exit_code and failures and _is_last(process, failures[-1])
        else _thread_failure(process, failures)
    )
    if failure is None:
        return None
    kind = error_kind(failure.message)
    place = failing_node(process, failure)
    moments, layers = CallGraphs(process), LayerLookup(process.catalogue)
    step = moments.calls.step(failure.call)
    if place is None:
        op = process.catalogue.eager.get(failure.op)
        site = process.catalogue.sites.get(op.site) if op is not None else None
        layer = layers.of_eager(op) if op is not None else None
        kind_of_op, name = (op.type, op.type) if op is not None else (failure.type, "?")
        return FatalError(failure, _more_specific(kind, failure, (), moments), kind_of_op, name, site, step, (), layer)
    instance, number, node = place
    slots = moments.of_call(failure.call).node_inputs(instance, number, None)
    site = process.catalogue.sites.get(node.forward.site if node.forward is not None else node.site)
    shown = [[one for one in slot[:1] if one.has_health or one.constant] for slot in slots]
    inputs = tuple(one for slot in shown for one in slot)
    unseen = unrecorded_inputs(process, failure, instance, node, [bool(slot) for slot in shown])
    layer = layers.of_node(process.catalogue.functions[instance.function], node)
    numbers = tuple(moments.event_number(one) for one in inputs)
    kind = _more_specific(kind, failure, inputs, moments)
    return FatalError(failure, kind, node.type, node.name, site, step, inputs, layer, numbers, unseen, place[:2])


def _more_specific(
    error_kind: ErrorKind, failed_call: FailedCall, inputs: tuple[ObservedTensor, ...], call_graphs: CallGraphs
) -> ErrorKind:
    """Return a more specific kind if the index is known."""
    beyond = position_overrun(failed_call, inputs, call_graphs)
    return (
        replace(error_kind, cause=POSITIONS, words=beyond.words, fix=beyond.fix) if beyond is not None else error_kind
    )


def _thread_failure(process: ProcessTrace, failed_calls: list[FailedCall]) -> FailedCall | None:
    """Return the error that ended a thread: Python prints it, and the program goes on."""
    said = str(process.catalogue.meta.get("thread_died_of") or "")
    return next((failure for failure in reversed(failed_calls) if said and failure.message in said), None)


def _is_last(process: ProcessTrace, failed_call: FailedCall) -> bool:
    calls = process.calls[process.calls["kind"] != CallKind.JOIN]
    return len(calls) > 0 and int(calls["call"].max()) - failed_call.call <= MAX_CALLS_AFTER


def failing_node(process: ProcessTrace, failed_call: FailedCall) -> tuple[Instance, int, Node] | None:
    """Return the node that the message names; inside of a function that was inlined, the one whose name ends it."""
    for name in _NODE.findall(failed_call.message.partition("NodeDef: ")[0]):
        found = _last_node(process, name) or _last_node(process, name, is_inlined=True)
        if found is not None:
            return found
    return None


def _last_node(process: ProcessTrace, name: str, is_inlined: bool = False) -> tuple[Instance, int, Node] | None:
    catalogue = process.catalogue
    for instance in reversed(catalogue.instances.values()):
        function = catalogue.functions.get(instance.function)
        for number, node in enumerate(function.nodes if function is not None else ()):
            if name.endswith("/" + node.name) if is_inlined else name == node.name:
                return instance, number, node
    return None
