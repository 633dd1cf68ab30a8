"""Replays a call that went bad: uncompiled, with probes, on new variables."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tensorsleuth.core.error_text import first_line
from tensorsleuth.core.layout.rows import CallKind
from tensorsleuth.core.modes import Mode
from tensorsleuth.core.ops.function_names import program_name
from tensorsleuth.core.replay_outcome import ReplayOutcome
from tensorsleuth.recording.backends.sink import Sink
from tensorsleuth.recording.eager.external_inputs import NO_MAKER, external_inputs
from tensorsleuth.recording.eager.op_sites import OpSite, OpSites
from tensorsleuth.recording.functions.probes import DO_NOT_LOOK
from tensorsleuth.recording.functions.side_effects import is_random
from tensorsleuth.recording.functions.watched_functions import WatchedCopy, WatchedFunctions
from tensorsleuth.recording.harmless import harmless
from tensorsleuth.recording.observer import GUARD_STOP_MESSAGE, FunctionCall
from tensorsleuth.recording.replay.free_memory import free_memory
from tensorsleuth.recording.replay.replay_inputs import ReplayStore
from tensorsleuth.recording.replay.save_step import StepSaver
from tensorsleuth.recording.replay.snapshots import EarlierCall
from tensorsleuth.recording.replay.variable_state import with_new_variables
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.recording.tensorflow.error_messages import describe_inputs, restore_message
from tensorsleuth.recording.tensorflow.gradient_marks import ARGUMENT_MAKER
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter

if TYPE_CHECKING:
    from tensorsleuth.recording.replay.replay_buffer import ReplayableCall


ASSUMED_FREE_BYTES = 1 << 32  # if the free memory is unknown


@dataclass(frozen=True)
class ReplayResult:
    """The result of replaying a call."""

    number: int
    watched: WatchedCopy
    place: OpSite
    bad: bool
    error: str | None = None
    outputs: Sequence[Any] = ()
    outcome: ReplayOutcome = ReplayOutcome.AGAIN


class Replayer:
    """Replays one call at a time."""

    def __init__(
        self,
        catalog: CatalogWriter,
        watched_functions: WatchedFunctions,
        op_sites: OpSites,
        sink: Sink,
        replay_store: ReplayStore,
        step_saver: StepSaver | None,
        step: Callable[[], int],
    ) -> None:
        self._catalog = catalog
        self._functions = watched_functions
        self._places = op_sites
        self._sink = sink
        self._keeper = replay_store
        self._saver = step_saver
        self.step = step  # returns the current training step
        self._lock = threading.Lock()

    def save(self, call: FunctionCall, replayable_call: ReplayableCall, raised: bool) -> None:
        """Save a call, even if it went well. Its outside inputs are then ready for a replay."""
        with self._lock:
            replayable_call = self._rewind(call, replayable_call)
            if self._saver is not None:
                harmless(self._saver.save, call, replayable_call, self.step(), raised)

    def replay(
        self, call: FunctionCall, replayable_call: ReplayableCall, outputs: Sequence[Any] | None, sure: bool
    ) -> ReplayResult | None:
        """Replay a call. `outputs` is its result, None if it raised. `sure` says that outputs or variables were bad."""
        with self._lock:
            try:
                replayable_call = self._rewind(call, replayable_call, finds_first=True)
                if self._saver is not None and sure:
                    harmless(self._saver.save, call, replayable_call, self.step(), outputs is None)
                return self._replay(call, replayable_call, outputs, sure)
            finally:
                self._keeper.forget()

    def inspect(self, call: FunctionCall, replayable_call: ReplayableCall) -> None:
        """Replay a healthy call uncompiled, only for observers. It adds no rows to the recording."""
        with self._lock:
            try:
                watched = self._functions.inspection_copy(replayable_call.name, replayable_call.find_graph)
                if watched is None or replayable_call.earlier:
                    return
                self._keeper.rewind(call.number)
                inputs = with_new_variables(replayable_call.variables, replayable_call.values, replayable_call.inputs)
                tf.run_function(watched.name, [*inputs, tf.int64_scalar(self._sink.next_call())], call.place[2], "")
            except tf.TensorFlowErrors as error:
                self._note_hidden_error(call, error)
                what = f"the inside of {program_name(call.name)} between bad values"
                self._catalog.not_covered(what, f"XLA compiles it, and uncompiled it raises: {first_line(str(error))}")
                self._functions.refuse_inspection(replayable_call.name)
            finally:
                self._keeper.forget()

    def _note_hidden_error(self, call: FunctionCall, error: Any) -> None:
        """Note an error that XLA hides. For example, for an index beyond the end it reads the last row."""
        restore_message(error)
        inputs = describe_inputs(call.inputs)
        what = {"call": call.number, "op": 0, "type": call.name, "message": str(error), "inputs": inputs}
        self._catalog.hidden_failure(what)

    def _rewind(self, call: FunctionCall, replayable_call: ReplayableCall, finds_first: bool = False) -> ReplayableCall:
        """Return a call with its variables' values from before it, and rewind its outside inputs.

        If the calls since the snapshot fail to run again, the result still lists them as `earlier`. `finds_first` also
        replays the first of them that wrote a bad value, because variables are not checked after every call.
        """
        watched = (
            self._functions.replay_copy(replayable_call.name, replayable_call.find_graph)
            if replayable_call.earlier
            else None
        )
        try:
            for earlier in replayable_call.earlier if watched is not None else ():
                values = self._run_earlier(call, replayable_call, earlier, watched.name)  # type: ignore[union-attr]
                written = replayable_call.variables.among(values, replayable_call.written)
                if finds_first and self._keeper.any_bad(written):
                    self._replay_earlier(call, replayable_call, earlier)
                    finds_first = False
                replayable_call = replace(replayable_call, values=values, earlier=replayable_call.earlier[1:])
        except tf.TensorFlowErrors:
            pass
        self._keeper.rewind(call.number)
        return replayable_call

    def _replay_earlier(self, call: FunctionCall, replayable_call: ReplayableCall, earlier_call: EarlierCall) -> None:
        """Replay the first call that wrote a bad value, in place of the later one that noticed it."""
        first = replace(call, number=earlier_call.number, inputs=earlier_call.inputs)
        replayable = replace(replayable_call, inputs=earlier_call.inputs, earlier=())
        self._keeper.rewind(earlier_call.number)
        if self._saver is not None:
            harmless(self._saver.save, first, replayable, earlier_call.step, False)
        self._keeper.rewind(0)
        self._replay(first, replayable, (), True)

    def _run_earlier(
        self, call: FunctionCall, replayable_call: ReplayableCall, earlier_call: EarlierCall, watched: str
    ) -> Sequence[Any]:
        """Replay an earlier call, and return the values of the variables after it."""
        number = self._sink.next_call()
        self._sink.call(CallKind.REPLAYING, number, call.place[0], time.monotonic_ns(), 0, [earlier_call.number])
        self._keeper.rewind(earlier_call.number)
        inputs = with_new_variables(replayable_call.variables, replayable_call.values, earlier_call.inputs)
        tf.run_function(watched, [*inputs, tf.int64_scalar(number)], call.place[2], "")
        return replayable_call.variables.read(inputs)

    def _replay(
        self, call: FunctionCall, replayable_call: ReplayableCall, outputs: Sequence[Any] | None, sure: bool
    ) -> ReplayResult | None:
        watched = self._functions.replay_copy(replayable_call.name, replayable_call.find_graph)
        if watched is None or replayable_call.earlier:
            why = "its copy could not be made" if watched is None else "the calls before it failed in the replay"
            self._note_outcome(call, ReplayOutcome.NOT_RUN, why)
            return None
        ran = self._run(call, replayable_call, watched, sure)
        reproduced = ran.error is not None if outputs is None else ran.bad
        if reproduced:
            return self._note_reproduced(
                call,
                ran,
                outputs,
                ReplayOutcome.UNCOMPILED if replayable_call.outline.compiled else ReplayOutcome.AGAIN,
            )
        compiled = (
            self._run_compiled(call, replayable_call, sure)
            if replayable_call.outline.compiled and outputs is not None
            else None
        )
        if compiled is not None and compiled.bad:
            return self._note_reproduced(call, compiled, outputs, ReplayOutcome.COMPILED)
        if sure:
            self._note_outcome(call, ReplayOutcome.NOT_REPRODUCED, _why_not_reproduced(replayable_call, ran))
        return None

    def _run_compiled(self, call: FunctionCall, replayable_call: ReplayableCall, sure: bool) -> ReplayResult | None:
        """Replay a call compiled, with copies that return its inner tensors."""
        room = free_memory()
        parts = self._functions.export_copier(replayable_call.name, replayable_call.find_graph).parts(
            (room or ASSUMED_FREE_BYTES) // 4
        )
        ran: ReplayResult | None = None
        for watched in parts:
            self._keeper.rewind(0)
            one = self._run(call, replayable_call, watched, sure, ran.number if ran is not None else None)
            ran = one if ran is None else replace(ran, bad=ran.bad or one.bad)
        return ran

    def _run(
        self,
        call: FunctionCall,
        replayable_call: ReplayableCall,
        watched_copy: WatchedCopy,
        sure: bool,
        number: int | None = None,
    ) -> ReplayResult:
        site, outputs = self._places.site_of(call.place[0]), call.place[2]
        place = self._places.at_site(call.name, site, outputs, instance=watched_copy.instance)
        seen = self._keeper.bad_count()
        if number is None:
            number = self._sink.next_call()
            self._sink.call(CallKind.REPLAYING, number, place[0], time.monotonic_ns(), 0, [call.number])
        self._look_at_arguments(replayable_call.inputs, watched_copy, number)
        inputs = with_new_variables(replayable_call.variables, replayable_call.values, replayable_call.inputs)
        try:
            made = tf.run_function(watched_copy.name, [*inputs, tf.int64_scalar(number)], outputs, "")
        except tf.TensorFlowErrors as error:
            return ReplayResult(number, watched_copy, place, GUARD_STOP_MESSAGE in str(error), str(error))
        written = replayable_call.written.read(inputs)
        bad = self._keeper.any_bad([*made, *written]) if sure else self._keeper.bad_count() != seen
        return ReplayResult(number, watched_copy, place, bad, outputs=made)

    def _look_at_arguments(self, inputs: Sequence[Any], watched_copy: WatchedCopy, number: int) -> None:
        """Record the arguments in full, even those that were sampled when the program made the call."""
        for at, tensor, look in external_inputs(inputs, self._places, self._sink, (NO_MAKER, ARGUMENT_MAKER)):
            if look != DO_NOT_LOOK:
                self._sink.note_tensor(tensor, watched_copy.first + at, number, tensor._id, max(look, Mode.FULL_HEALTH))

    def _note_reproduced(
        self,
        call: FunctionCall,
        replay_result: ReplayResult,
        outputs: Sequence[Any] | None,
        replay_outcome: ReplayOutcome,
    ) -> ReplayResult:
        """Note that the replay shows the same failure, so that its rows stand for those of the call."""
        self._note_outcome(call, replay_outcome, None)
        for index, tensor in enumerate(outputs or replay_result.outputs):
            self._sink.note_tensor(
                tensor, replay_result.place[1] + index, replay_result.number, tensor._id, Mode.NO_TENSOR
            )
        self._sink.call(
            CallKind.REPLAYED, call.number, replay_result.place[0], time.monotonic_ns(), 0, [replay_result.number]
        )
        return replace(replay_result, outcome=replay_outcome)

    def _note_outcome(self, call: FunctionCall, replay_outcome: ReplayOutcome, why: str | None) -> None:
        self._catalog.replay({"call": call.number, "outcome": replay_outcome.value, "function": call.name, "why": why})


def _why_not_reproduced(replayable_call: ReplayableCall, replay_result: ReplayResult) -> str:
    """Return the reason why the replay of a call was healthy."""
    if replay_result.error is not None:
        return f"it raised when it was run again: {first_line(replay_result.error)}"
    random = [op for op in replayable_call.outline.unkept_ops if is_random(op)]
    if random:
        return f"it draws other random numbers each time ({', '.join(random)}, compiled by XLA)"
    if replayable_call.outline.compiled:
        return "compiled by XLA, it rounds, fuses and checks differently"
    return "it behaved differently in the replay"
