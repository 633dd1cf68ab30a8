"""A program that died of a TensorFlow error: which op of the user's raised it, and why, in plain words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tensorsleuth.model.catalog import Failure, Site
from tensorsleuth.model.rows import CallKind
from tensorsleuth.trace.process import ProcessTrace

RECENT = 3  # calls at the end among which the one is that the program died of
UNKNOWN = "tensorflow-error"
_NODE = re.compile(r"\{\{node ([^}]+)\}\}")

# what the message says -> the cause, and what to change; the first that fits
_KINDS = (
    (re.compile(r"label value of .* outside the valid range|Received a label value", re.S), "label-out-of-range",
     "labels must be 0 … classes − 1: count the classes again, or shift labels that start at 1"),
    (re.compile(r"indices\[.*\] = .* is not in \[|out of bound|slice index .* out of", re.S), "index-out-of-range",
     "make the table as large as the largest index + 1, or keep the index within it"),
    (re.compile(r"[Ii]nteger division by zero|[Dd]ivision by zero"), "integer-division",
     "integers have no infinity: guard the divisor, tf.maximum(n, 1), or divide as floats"),
    (re.compile(r"[Ii]ncompatible|must be equal|should match|[Dd]imension|shape|rank", re.S), "shape-mismatch",
     "print the shapes that meet there; a batch, padding or axis is not what the op expects"),
    (re.compile(r"OOM|exhausted|allocat", re.S), "out-of-memory", "use a smaller batch or sequence"),
)  # fmt: skip


@dataclass(frozen=True)
class Death:
    """The error that ended the program."""

    failure: Failure
    cause: str
    fix: str | None
    op: str
    name: str
    site: Site | None
    step: int | None


def find_death(process: ProcessTrace, exit_code: int | None) -> Death | None:
    """The TensorFlow error that the program died of; None where it ended well, or of something else."""
    failures = process.catalogue.failures
    if not exit_code or not failures or not _is_last(process, failures[-1]):
        return None
    failure = failures[-1]
    cause, fix = _explain(failure.message)
    op, name, site = _place(process, failure)
    return Death(failure, cause, fix, op, name, site, process.step_of_call.get(failure.call))


def _is_last(process: ProcessTrace, failure: Failure) -> bool:
    calls = process.calls[process.calls["kind"] != CallKind.JOIN]
    return len(calls) > 0 and int(calls["call"].max()) - failure.call <= RECENT


def _explain(message: str) -> tuple[str, str | None]:
    for pattern, cause, fix in _KINDS:
        if pattern.search(message):
            return cause, fix
    return UNKNOWN, None


def _place(process: ProcessTrace, failure: Failure) -> tuple[str, str, Site | None]:
    """The op that raised: the node that the message names, else the call."""
    catalogue = process.catalogue
    named = _NODE.findall(failure.message)
    for name in named:
        for function in reversed(catalogue.functions.values()):
            node = next((node for node in function.nodes if name == node.name or name.endswith("/" + node.name)), None)
            if node is not None:
                site = node.forward.site if node.forward is not None else node.site
                return node.type, node.name, catalogue.sites.get(site)
    op = catalogue.eager.get(failure.op)
    return (op.type, op.type, catalogue.sites.get(op.site)) if op is not None else (failure.type, "?", None)
