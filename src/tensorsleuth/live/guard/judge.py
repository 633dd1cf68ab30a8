"""Decides whether a bad value matters: whether it has reached a variable, a loss, an output or a Python number."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tensorsleuth.core.dtypes import DTYPES, DTypeKind
from tensorsleuth.core.errors import NumericsError
from tensorsleuth.core.ops import kinds as ops
from tensorsleuth.core.ops.data_ops import DATASET_OUTPUTS
from tensorsleuth.core.ops.function_names import program_name
from tensorsleuth.live.guard.excerpt import GrowingCatalogue, TraceExcerpt
from tensorsleuth.live.guard.explain import make_numerics_error
from tensorsleuth.live.guard.function_writes import OriginWalk, VariableWrites
from tensorsleuth.live.guard.suspects import Suspect, SuspectReason, Suspects
from tensorsleuth.recording.observer import GUARD_STOP_MESSAGE, Alarm, FunctionCall, Observer
from tensorsleuth.recording.recorder import Recorder
from tensorsleuth.recording.sessions.session_values import SessionValue
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.recording.tensorflow import variables as tf_variables
from tensorsleuth.trace.dataflow.call_graph import CallGraphs
from tensorsleuth.trace.process.process import ProcessTrace

MAX_CLEARED = 4096
SMALL_TENSOR_ELEMENTS = 4096  # up to this size, a full summary costs no more than the row itself
ON, STRICT = 1, 2  # the modes of the native guard
_Tensor = tf.EagerTensor | SessionValue  # a SessionValue is a feed or fetch of a session
_MOVES_VALUES = ops.KEEP_FINITE | ops.VIEWS | ops.KEEP_BAD | ops.LITERALS
BadOutputs = list[tuple[int, bool]]  # index of a bad output, and whether it has a NaN


class GuardJudge(Observer):
    """Watches one recording, or one period of the guard's own. It returns its alarms, and the recorder raises them."""

    sees_all = True
    order = 2

    def __init__(self, recorder: Recorder, strict: bool) -> None:
        self._recorder = recorder
        self._sink = recorder.sink
        self._folder = recorder.folder
        self._strict = strict
        self._catalogues = GrowingCatalogue(recorder.folder)
        self._suspects = Suspects()
        self._writes: dict[int, VariableWrites] = {}
        self._cleared: dict[Any, tuple[BadOutputs, SuspectReason]] = {}  # bad tensors already found harmless
        self._last_alarm = 0

    def attach(self, recorder: Recorder) -> None:
        recorder.attach(self)
        self._sink.guard(STRICT if self._strict else ON, SMALL_TENSOR_ELEMENTS)

    def detach(self) -> None:
        self._recorder.detach(self)
        self._sink.guard(0, 0)

    # ---- eager

    def on_bad_op(self, op: str, inputs: Sequence[Any], call: int, outputs: Sequence[Any]) -> Alarm:
        given = list(_tensors(inputs))
        self._note_external_inputs(given)
        uids = tuple(uid for uid, _ in given)
        for number, tensor in enumerate(outputs):
            bad, nan = _health(tensor)
            if bad:
                reason = SuspectReason.BORN if nan else self._suspects.reason(uids, _reason_of(op, inputs))
                self._suspect(tensor._id, Suspect(call, nan, reason, uids))
                if self._strict and op not in _MOVES_VALUES and not (number and op in ops.BATCH_NORMS):
                    return self._alarm([tensor._id], f"the output of {op} (strict)")
        return None

    def _note_external_inputs(self, given: Sequence[tuple[int, Any]]) -> None:
        """Note bad external inputs. No op has computed them, so they are origins."""
        for uid, tensor in given:
            bad, nan = _health(tensor) if self._suspects.get(uid) is None else (False, False)
            if bad:
                reason = (
                    SuspectReason.BORN
                    if nan
                    else SuspectReason.LITERAL
                    if is_mask(tf.array_of(tensor))
                    else SuspectReason.DATA
                )
                self._suspect(uid, Suspect(0, nan, reason, ()))

    def on_write(self, op: str, inputs: Sequence[Any]) -> Alarm:
        return self._judge([uid for uid, _ in _tensors(inputs)], SuspectReason.DATA, f"a variable ({op})")

    def on_loss(self, targets: Any) -> Alarm:
        if not self._suspects:
            return None
        uids = [tensor._id for tensor in tf.flat_tensors(targets)]
        return self._judge(uids, SuspectReason.DATA, "the loss passed to GradientTape.gradient")

    def on_python_value(self, tensor: Any) -> Alarm:
        if not self._suspects:
            return None
        return self._judge([tensor._id], SuspectReason.BORN, "a value that Python reads")

    def _judge(self, uids: Iterable[int], up_to: SuspectReason, reached: str) -> Alarm:
        """Return an alarm if one of the tensors is bad for the reason `up_to` or a stronger one."""
        found = [uid for uid in self._suspects.among(uids) if self._suspects.reason([uid]) <= up_to]
        return self._alarm(found, reached) if found else None

    def _suspect(self, uid: int, suspect: Suspect) -> None:
        if not self._suspects:
            self._sink.set_suspicious(1)
        self._suspects.add(uid, suspect)

    # ---- functions

    def on_call_end(self, call: FunctionCall, outputs: Sequence[Any], seen: bool) -> Alarm:
        bad = frozenset(self._sink.take_bad(call.number))
        if seen and not bad:
            return None
        key = (call.name, bad)
        if seen and key in self._cleared:
            self._suspect_outputs(call, outputs, *self._cleared[key])
            return None
        found = list(_bad_among(outputs[: _user_output_count(call.name)]))
        written, reason, born = self._look_inside(call, bad, found) if seen else ([], SuspectReason.BORN, [])
        is_gradient = "__backward_" in call.name  # a bad gradient matters only once it is applied
        reached = self._reached(call.name, [] if is_gradient else found, written, reason)
        if reached:
            return self._raised(self._excerpt_of_call(call), reached, born)
        self._clear(key, found, reason)
        self._suspect_outputs(call, outputs, found, reason)
        return None

    def _look_inside(
        self, call: FunctionCall, bad: frozenset[tuple[int, bool]], found: BadOutputs
    ) -> tuple[BadOutputs, SuspectReason, list[str]]:
        """Return the bad writes to variables, the reason why writes and outputs are bad, and the tensors of origin."""
        assert call.watched is not None
        excerpt = self._excerpt_of_call(call)
        writes = self._writes.get(call.watched.instance)
        if writes is None:
            writes = self._writes[call.watched.instance] = VariableWrites(excerpt, call.watched.instance)
        candidates = {tensor for tensor, _ in bad}
        if not found and not writes.may_hold(candidates):
            return [], SuspectReason.LITERAL, []
        moment = CallGraphs(excerpt).of_call(call.number)
        reached = writes.written_among(candidates, moment.rows)
        written = [(tensor, nan) for tensor, nan in bad if tensor in reached]
        instance = excerpt.catalogue.instances[call.watched.instance]
        origin_walk = OriginWalk(moment, self._suspects)
        births = origin_walk.origins([number for number, _ in found], reached, instance)
        if all(one.op == "ReadVariableOp" for one in births):  # the call itself may have written the bad value earlier
            births = origin_walk.origins_of_writes(writes.written) or births
        has_nan = any(nan for _, nan in [*written, *found])
        return (
            written,
            SuspectReason.BORN if has_nan else origin_walk.reason(births),
            [one.tensor.name for one in births],
        )

    def _reached(self, name: str, found: BadOutputs, written: BadOutputs, suspect_reason: SuspectReason) -> str | None:
        called = _called(name)
        if written and suspect_reason <= SuspectReason.DATA:
            return f"a variable, in {called}"
        if found and (suspect_reason is SuspectReason.BORN or any(nan for _, nan in found)):
            return f"output {found[0][0]} of {called}"
        return None

    def _suspect_outputs(
        self, call: FunctionCall, outputs: Sequence[Any], found: BadOutputs, suspect_reason: SuspectReason
    ) -> None:
        uids = _uids_of(call)
        for number, nan in found:
            self._suspect(
                outputs[number]._id, Suspect(call.number, nan, SuspectReason.BORN if nan else suspect_reason, uids)
            )

    def _clear(self, key: Any, found: BadOutputs, suspect_reason: SuspectReason) -> None:
        if len(self._cleared) > MAX_CLEARED:
            self._cleared.clear()
        self._cleared[key] = found, suspect_reason

    def on_call_failed(self, call: FunctionCall, error: BaseException) -> Alarm:
        self._sink.take_bad(call.number)
        if GUARD_STOP_MESSAGE not in str(error):
            return None
        reached = f"the output of an op in {_called(call.name)} (strict)"
        return self._raised(self._excerpt_of_call(call, max(call.began, self._last_alarm)), reached)

    def on_op_failed(self, op: str, error: BaseException) -> Alarm:
        if GUARD_STOP_MESSAGE not in str(error):  # a probe of ours raises it, in a function that the op runs
            return None
        return self._raised(self._excerpt(set(), set(), self._last_alarm), f"the output of an op under {op} (strict)")

    # ---- alarms

    def _alarm(self, uids: Sequence[int], reached: str) -> Alarm:
        return self._raised(self._excerpt(*self._suspects.history(uids)), reached)

    def _excerpt_of_call(self, call: FunctionCall, since: int | None = None) -> TraceExcerpt:
        uids = _uids_of(call)
        calls, seen = self._suspects.history(uids)
        return self._excerpt(calls | {call.number}, seen | set(uids), since)

    def _excerpt(self, calls: set[int], uids: set[int], since: int | None = None) -> TraceExcerpt:
        return TraceExcerpt(self._folder, self._catalogues, calls, uids, since)

    def _raised(self, trace_excerpt: TraceExcerpt, reached: str, born: Sequence[str] = ()) -> Alarm:
        error = make_numerics_error(trace_excerpt, reached, born)
        if error.findings and error.findings[0].op in DATASET_OUTPUTS:  # include the ops of the dataset
            error = make_numerics_error(trace_excerpt.with_datasets(self._last_alarm), reached)
        if not self._last_alarm and _is_weak(error):  # older rows may explain it: growth, a dataset, a checkpoint
            error = _better(error, make_numerics_error(ProcessTrace(self._folder), reached))
        self._last_alarm = time.monotonic_ns()
        return error


_WEAK_CAUSES = ("origin", "sum-overflow", "product-overflow", "nan-in-data", "inf-in-data", "nan-initial-value")


def _is_weak(error: NumericsError) -> bool:
    """Return whether the error says what happened, but hardly why."""
    return not error.findings or error.findings[0].file is None or error.findings[0].cause in _WEAK_CAUSES


def _better(error: NumericsError, other: NumericsError) -> NumericsError:
    """Return the other error if it names a line and has at least the same confidence."""
    if not other.findings or other.findings[0].file is None:
        return error
    mine = error.findings[0].confidence if error.findings and error.findings[0].file is not None else 0.0
    return other if other.findings[0].confidence >= mine else error


def _called(name: str) -> str:
    """Return a function's name as the user wrote it."""
    return program_name(name)


def _reason_of(op: str, inputs: Sequence[Any]) -> SuspectReason:
    """Return why an op's output is infinite although all its input tensors are finite."""
    if op in ops.LITERALS or op == "ReadVariableOp":  # a computed infinity would have raised when it was written
        return SuspectReason.LITERAL
    if any(_is_infinite(thing) for thing in inputs):
        return SuspectReason.LITERAL
    return SuspectReason.DATA if op in ops.EXTERNAL_SOURCES else SuspectReason.BORN


def _is_infinite(thing: Any) -> bool:
    """Return whether an op's argument is an infinite Python number, or a variable with such a value."""
    if isinstance(thing, float):
        return math.isinf(thing)
    if not isinstance(thing, tf.Variable):
        return False
    return _health(tf_variables.read_variable(thing))[0]  # the guard allowed that write


def is_mask(array: Any) -> bool:
    """Return whether an array holds only infinities and zeros. The program wrote such an array as a mask."""
    return bool((np.isinf(array) | (array == 0)).all())


def _tensors(inputs: Iterable[Any]) -> Iterator[tuple[int, Any]]:
    """Yield the eager tensors among an op's arguments, also those in lists."""
    for thing in inputs:
        if isinstance(thing, _Tensor):
            yield thing._id, thing
        elif isinstance(thing, list | tuple):
            yield from ((one._id, one) for one in thing if isinstance(one, tf.EagerTensor))


def _uids_of(call: FunctionCall) -> tuple[int, ...]:
    return tuple(uid for uid, _ in _tensors(call.inputs))


def _bad_among(outputs: Sequence[Any]) -> Iterator[tuple[int, bool]]:
    for number, tensor in enumerate(outputs):
        bad, nan = _health(tensor)
        if bad:
            yield number, nan


def _user_output_count(name: str) -> int | None:
    """Return the number of outputs that the user gets from the called function."""
    return tf.user_outputs(sys._getframe(2)) if "__forward_" in name else None


def _health(tensor: Any) -> tuple[bool, bool]:
    """Return whether any value is not finite, and whether any is NaN."""
    if not isinstance(tensor, _Tensor):
        return False, False
    dtype = DTYPES.get(tensor._datatype_enum())
    if dtype is None or dtype.kind not in (DTypeKind.FLOAT, DTypeKind.COMPLEX):
        return False, False
    array = tf.array_of(tensor)
    bad = not bool(np.isfinite(array).all())
    return bad, bad and bool(np.isnan(array).any())
