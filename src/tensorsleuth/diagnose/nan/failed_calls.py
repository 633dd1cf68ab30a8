"""Bad values that led to an op which raised: an index, a size or an assertion that was computed from a NaN.

The walk goes back from the op, through integers and booleans, which cannot be bad themselves, to the first floats.
A finite float ends it: whatever was bad before did not get through.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from tensorsleuth.core.catalog import FailedCall
from tensorsleuth.core.layout.rows import NO_UID
from tensorsleuth.core.ops.kinds import ORDER_OPS, SHAPE_OPS
from tensorsleuth.trace.dataflow.call_graph import CallGraph, CallGraphs
from tensorsleuth.trace.dataflow.observed_tensor import Key, ObservedTensor
from tensorsleuth.trace.dataflow.value_flow import ValueSource
from tensorsleuth.trace.process.process import ProcessTrace

MAX_OPS = 400  # between the op that raised and a bad tensor
MAX_FAILURES = 50
MAX_CALLS_BEFORE = 20  # between a Cast and the eager op that took what it made
CAST_NAN = (str(-(1 << 31)), str(-(1 << 63)))  # as int32 and as int64


class FailedCalls:
    """The calls that raised, caught or not, by the bad tensors that led to them."""

    def __init__(self, process: ProcessTrace) -> None:
        self._process = process
        self._call_graphs = CallGraphs(process)

    @cached_property
    def by_tensor(self) -> dict[Key, FailedCall]:
        failures = self._process.catalogue.failures[:MAX_FAILURES] if self._process.has_bad else []
        return {one.key: failure for failure in reversed(failures) for one in self._bad_sources(failure)}

    def _bad_sources(self, failed_call: FailedCall) -> Iterator[ObservedTensor]:
        from tensorsleuth.diagnose.exits.failure import failing_node  # a call that failed is rare

        place = failing_node(self._process, failed_call)
        moment = self._call_graphs.of_call(failed_call.call)
        if place is None:
            yield from self._walk_eager(list(self._inputs_of_eager(failed_call)))
            return
        instance, number, _ = place
        slots = self._call_graphs.flow.input_sources(instance, number)
        yield from self._walk(moment, [source for slot in slots for source in slot], [])

    def _inputs_of_eager(self, failed_call: FailedCall) -> Iterator[int]:
        """Yield what went into an eager op; integers have no rows, but a NaN makes the smallest of them in a Cast."""
        calls = self._call_graphs.calls
        yield from calls.inputs(failed_call.call)
        if any(smallest in text for smallest in CAST_NAN for text in failed_call.inputs):
            before = range(failed_call.call - 1, max(0, failed_call.call - MAX_CALLS_BEFORE), -1)
            casts = (call for call in before if (op := calls.op(call)) is not None and op.type == "Cast")
            yield from (uid for call in casts for uid in calls.inputs(call))

    def _walk(self, call_graph: CallGraph, sources: list[ValueSource], uids: list[int]) -> Iterator[ObservedTensor]:
        """Yield the bad tensors; `ordered` are those of which only the order counts."""
        seen: set[ValueSource] = set()
        todo = [(source, False) for source in sources]
        arguments = self._call_graphs.calls.inputs(call_graph.call)
        for source, ordered in todo:
            if source in seen or len(seen) > MAX_OPS:
                continue
            seen.add(source)
            if 0 <= source.argument < len(arguments):
                uids.append(arguments[source.argument])
                continue
            found = call_graph.observations(source.tensor)
            yield from (one for one in found if one.bad and (one.has_nan or not ordered))
            if not any(one.has_health for one in found):
                ordered |= self._op(source) in ORDER_OPS
                todo += [(one, ordered) for one in self._inputs(source)]
        yield from self._walk_eager(uids)

    def _op(self, value_source: ValueSource) -> str:
        tensor = self._process.tensor(value_source.tensor)
        return tensor.type if tensor is not None else ""

    def _inputs(self, value_source: ValueSource) -> list[ValueSource]:
        tensor = self._process.tensor(value_source.tensor)
        if tensor is None or tensor.node is None or tensor.instance is None or tensor.function is None:
            return []
        if tensor.type in SHAPE_OPS:
            return []
        slots = self._call_graphs.flow.input_sources(tensor.instance, tensor.function.number(tensor.node))
        return [source for slot in slots for source in slot]

    def _walk_eager(self, uids: list[int]) -> Iterator[ObservedTensor]:
        seen: set[int] = set()
        for uid in uids:
            if uid in seen or uid == NO_UID or len(seen) > MAX_OPS:
                continue
            seen.add(uid)
            one = self._call_graphs.by_uid(uid)
            if one is None or one.op in SHAPE_OPS:
                continue
            if one.bad:
                yield one
            elif not one.dtype.startswith(("float", "bfloat", "complex")) and one.tensor.eager is not None:
                uids += self._call_graphs.calls.inputs(one.call)
