"""A tf.function that is traced over and over: each trace is built, optimized and kept."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from tensorsleuth.core.catalog import Frame, FunctionTrace
from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.diagnose.health_words import format_bytes, pluralise
from tensorsleuth.diagnose.rule import Rule, RuleFinding, Severity, text_evidence
from tensorsleuth.trace.process.process import ProcessTrace

FEWEST_TRACES = 8
MAX_CALLS_PER_TRACE = (
    4  # a function that is made anew and then called more often than this was made on purpose, e.g. for each fold
)
_ADDRESS = re.compile(r"weakref at 0x[0-9a-f]+; |\bdead\b|0x[0-9a-f]+")
_SHAPE = re.compile(r"shape=(\([^)]*\)|None)")
_LITERAL = re.compile(r"^Literal\[(.*)\]$", re.DOTALL)
_NUMBER = re.compile(r"_\d+$|^__(inference|forward)_")
CallNumbers = list[int]


def find(process: ProcessTrace) -> Iterator[RuleFinding]:
    functions: dict[tuple[object, ...], list[FunctionTrace]] = defaultdict(list)
    for one in process.catalogue.traces:
        functions[one.file, one.line, _NUMBER.sub("", one.name)].append(one)
    for traces in functions.values():
        owners: dict[int, list[FunctionTrace]] = defaultdict(list)
        for one in traces:
            owners[one.owner].append(one)
        most = max(owners.values(), key=len)
        yield from _judge(process, most if _changes(most) and len(most) >= FEWEST_TRACES else traces)


RULE = Rule(id="retracing", severity=Severity.GROWS, find=find)


def _calls(process: ProcessTrace, traces: list[FunctionTrace]) -> CallNumbers:
    """The numbers of all calls of these traces."""
    names = {one.name for one in traces}
    ops = [op.id for op in process.catalogue.eager.values() if op.type in names]
    calls = process.calls
    mine = np.isin(calls["op"], ops) & (calls["kind"] == CallKind.FUNCTION)
    return sorted(int(call) for call in calls["call"][mine])


def _goes_on(traces: list[FunctionTrace], call_numbers: CallNumbers) -> bool:
    """Return whether the last calls cause new traces as the first ones did: it is no warm-up."""
    if not call_numbers:
        return False
    late = call_numbers[-max(len(call_numbers) // 4, 2)]
    new = sum(one.call >= late for one in traces)
    return new >= 2 and new * 8 >= len(traces)


def _changes(traces: list[FunctionTrace]) -> Counter[str]:
    """Return the number of traces in which each argument changed."""
    return Counter(name for before, one in _pairs(traces) for name in _changed(before, one))


def _judge(process: ProcessTrace, traces: list[FunctionTrace]) -> Iterator[RuleFinding]:
    calls = _calls(process, traces) if len(traces) >= FEWEST_TRACES else []
    if not _goes_on(traces, calls):
        return
    changes = _changes(traces)
    if len({one.owner for one in traces}) > 1 or not changes:
        yield from _made_anew(process, traces, calls)
        return
    name, times = changes.most_common(1)[0]
    if times * 2 < len(traces):
        return
    before, after = next((_text(a, name), _text(b, name)) for a, b in _pairs(traces) if name in _changed(a, b))
    yield _finding(process, traces, calls, _argument_words(name, before, after), _line(process, traces))


def _made_anew(process: ProcessTrace, traces: list[FunctionTrace], call_numbers: CallNumbers) -> Iterator[RuleFinding]:
    own = traces[0].file in process.catalogue.sources and traces[0].line is not None
    steps = process.steps_of_calls(np.array([one.call for one in traces]))  # layers of one class are traced in one
    is_spread = len(set(steps.tolist())) >= FEWEST_TRACES or _are_made_in_turns(process, traces)
    if own and is_spread and len(call_numbers) <= MAX_CALLS_PER_TRACE * len(traces):
        written = Frame(str(traces[0].file), int(traces[0].line or 0), traces[0].function)
        frame = traces[-1].made or written
        yield _finding(process, traces, call_numbers, (_ANEW, _MAKE_ONCE), frame)


def _are_made_in_turns(process: ProcessTrace, traces: list[FunctionTrace]) -> bool:
    """Return whether one line made each after the one before had run, all with the same variables.

    This needs no steps of training. Layers are all made before the first of them runs, and models have their own
    variables.
    """
    turns = {one.made_after for one in traces} - {None}
    functions = {one.name: one for one in process.catalogue.functions.values()}
    known = [functions[one.name].captures.values() for one in traces if one.name in functions]
    variables = {frozenset(one["uid"] for one in captures if one.get("uid") is not None) for captures in known}
    return len(turns) >= FEWEST_TRACES and len({one.made for one in traces}) == 1 and len(variables) <= 1


def _pairs(traces: list[FunctionTrace]) -> Iterator[tuple[FunctionTrace, FunctionTrace]]:
    return pairwise(traces)


def _changed(before: FunctionTrace, after: FunctionTrace) -> list[str]:
    old = dict(before.arguments)
    return [name for name, text in after.arguments if old.get(name) != text]


def _text(trace: FunctionTrace, name: str) -> str:
    return dict(trace.arguments).get(name, "")


def _argument_words(name: str, before: str, after: str) -> tuple[str, str]:
    """Return the argument, its change from trace to trace, and the fix."""
    literals = _LITERAL.match(before), _LITERAL.match(after)
    if literals[0] and literals[1]:
        return f"its argument {name} is a Python value that changes ({literals[0][1]}, then {literals[1][1]})", _TENSOR
    if _ADDRESS.sub("", before) == _ADDRESS.sub("", after):
        return f"its argument {name} is a new {_kind(before)} each time", _SAME_OBJECT
    shapes = _SHAPE.findall(before), _SHAPE.findall(after)
    if shapes[0] != shapes[1] and _SHAPE.sub("", before) == _SHAPE.sub("", after):
        return f"the shape of its argument {name} changes ({_short(shapes[0])}, then {_short(shapes[1])})", _ANY_SHAPE
    return f"its argument {name} changes ({before[:60]}, then {after[:60]})", _TENSOR


def _short(shapes: list[str]) -> str:
    return ", ".join(shape.replace("(", "[").replace(",)", ")").replace(")", "]") for shape in shapes[:3])


def _kind(text: str) -> str:
    found = re.search(r"to '(\w+)'", text)
    name = found.group(1) if found is not None else "object"
    return "function object (a lambda?)" if name == "function" else name


def _line(process: ProcessTrace, traces: list[FunctionTrace]) -> Frame | None:
    """Return the line that calls the newest trace."""
    op = next((op for op in process.catalogue.eager.values() if op.type == traces[-1].name), None)
    site = process.catalogue.sites.get(op.site) if op is not None else None
    return site.frame if site is not None else None


def _finding(
    process: ProcessTrace,
    traces: list[FunctionTrace],
    call_numbers: CallNumbers,
    words: tuple[str, str],
    frame: Frame | None,
) -> RuleFinding:
    name, (reason, fix) = traces[0].function, words
    why = (
        f"has {name} traced again and again, {len(traces):,} times in {pluralise(len(call_numbers), 'call')}: {reason}"
    )
    grown = _growth(process, traces)
    said = f"{pluralise(len(traces), 'trace')}, all kept" + (
        f"; memory grew by {format_bytes(grown)} meanwhile" if grown else ""
    )
    written = Frame(str(traces[0].file), int(traces[0].line), name) if traces[0].line is not None else None
    evidence = (text_evidence("kept", name, said, written),)
    first = int(process.steps_of_calls(np.array([traces[0].call]))[0])
    return RuleFinding(
        confidence=0.93,
        why=why,
        fix=fix,
        frame=frame,
        op=name,
        harm=grown / len(call_numbers),
        step=first,
        evidence=evidence,
    )


def _growth(process: ProcessTrace, traces: list[FunctionTrace]) -> int:
    """Return by how much the process grew between the first trace and the last, as far as sampled."""
    calls, memory = process.calls, process.memory
    times = [calls["time"][calls["call"] == one.call] for one in (traces[0], traces[-1])]
    if not len(memory) or not all(len(found) for found in times):
        return 0
    at = np.clip(np.searchsorted(memory["time"], [found[0] for found in times]), 0, len(memory) - 1)
    first, last = memory["anonymous"][at].astype(np.int64).tolist()
    return int(max(last - first, 0))


_ANEW = "the tf.function itself is made anew each time, and knows nothing of the traces before"
_MAKE_ONCE = "make the tf.function once, outside of the loop or in __init__, and call that"
_TENSOR = "pass a tensor: tf.constant(value), or keep it in a tf.Variable and assign to it"
_SAME_OBJECT = "make the object once, before the loop, and pass the same each time"
_ANY_SHAPE = (
    "pad to a few lengths, or say that the size varies: @tf.function(reduce_retracing=True), "
    "or an input_signature with None"
)
