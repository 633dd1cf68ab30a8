"""Runs a call again that went bad: uncompiled, with probes, on variables of its own."""

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
from tensorsleuth.core.replay_outcome import Outcome
from tensorsleuth.recording.backends.sink import Sink
from tensorsleuth.recording.eager.external_inputs import NOBODY, strangers
from tensorsleuth.recording.eager.op_sites import Place, Places
from tensorsleuth.recording.functions.probes import DO_NOT_LOOK
from tensorsleuth.recording.functions.side_effects import is_random
from tensorsleuth.recording.functions.watched_functions import Functions, Watched
from tensorsleuth.recording.harmless import harmless
from tensorsleuth.recording.observer import STOPPED, FunctionCall
from tensorsleuth.recording.replay.free_memory import free_memory
from tensorsleuth.recording.replay.replay_inputs import Keeper
from tensorsleuth.recording.replay.save_step import Saver
from tensorsleuth.recording.replay.snapshots import Earlier
from tensorsleuth.recording.replay.variable_state import stand_ins
from tensorsleuth.recording.tensorflow import internals as tf
from tensorsleuth.recording.tensorflow.error_messages import describe_inputs, restore_message
from tensorsleuth.recording.tensorflow.gradient_marks import ARGUMENT
from tensorsleuth.trace.storage.catalog_writer import CatalogWriter

if TYPE_CHECKING:
    from tensorsleuth.recording.replay.replay_buffer import Flight


MUCH = 1 << 32  # bytes, where nobody says how much memory is free


@dataclass(frozen=True)
class Ran:
    """The result of replaying a call."""

    number: int
    watched: Watched
    place: Place
    bad: bool
    error: str | None = None
    outputs: Sequence[Any] = ()
    outcome: Outcome = Outcome.AGAIN


class Replayer:
    """One call at a time."""

    def __init__(
        self,
        catalog: CatalogWriter,
        functions: Functions,
        places: Places,
        sink: Sink,
        keeper: Keeper,
        saver: Saver | None,
        step: Callable[[], int],
    ) -> None:
        self._catalog = catalog
        self._functions = functions
        self._places = places
        self._sink = sink
        self._keeper = keeper
        self._saver = saver
        self._step = step  # the training step that is under way
        self._lock = threading.Lock()

    def save(self, call: FunctionCall, flight: Flight, raised: bool) -> None:
        """Save a call, whatever came of it; what it took is then ready to be handed out again."""
        with self._lock:
            flight = self._rewound(call, flight)
            if self._saver is not None:
                harmless(self._saver.save, call, flight, self._step(), raised)

    def replay(self, call: FunctionCall, flight: Flight, outputs: Sequence[Any] | None, sure: bool) -> Ran | None:
        """Run a call again. `outputs` is what it returned, None where it raised; `sure` where those were bad."""
        with self._lock:
            try:
                flight = self._rewound(call, flight)
                if self._saver is not None and sure:
                    harmless(self._saver.save, call, flight, self._step(), outputs is None)
                return self._replay(call, flight, outputs, sure)
            finally:
                self._keeper.forget()

    def look(self, call: FunctionCall, flight: Flight) -> None:
        """Run a call again that went well, uncompiled, only to look into it. No row of the recording's comes of it."""
        with self._lock:
            try:
                watched = self._functions.looked_into(flight.name, flight.find)
                if watched is None or flight.earlier:
                    return
                self._keeper.again(call.number)
                inputs = stand_ins(flight.variables, flight.values, flight.inputs)
                tf.run_function(watched.name, [*inputs, tf.scalar(self._sink.next_call())], call.place[2], "")
            except tf.Failures as error:
                self._hidden(call, error)
                what = f"the inside of {program_name(call.name)} between bad values"
                self._catalog.not_covered(what, f"XLA compiles it, and uncompiled it raises: {first_line(str(error))}")
                self._functions.refuse_looks(flight.name)
            finally:
                self._keeper.forget()

    def _hidden(self, call: FunctionCall, error: Any) -> None:
        """XLA computes where TensorFlow's own kernels raise: an index beyond the end takes the last row."""
        restore_message(error)
        inputs = describe_inputs(call.inputs)
        what = {"call": call.number, "op": 0, "type": call.name, "message": str(error), "inputs": inputs}
        self._catalog.hidden(what)

    def _rewound(self, call: FunctionCall, flight: Flight) -> Flight:
        """A call with the values that its variables had before it, ready to take what it took.

        Where the calls since a snapshot cannot be run, it still has them as `earlier`.
        """
        watched = self._functions.again(flight.name, flight.find) if flight.earlier else None
        try:
            for earlier in flight.earlier if watched is not None else ():
                values = self._pass_by(call, flight, earlier, watched.name)  # type: ignore[union-attr]
                flight = replace(flight, values=values, earlier=flight.earlier[1:])
        except tf.Failures:
            pass
        self._keeper.again(call.number)
        return flight

    def _pass_by(self, call: FunctionCall, flight: Flight, earlier: Earlier, watched: str) -> Sequence[Any]:
        """Run an earlier call again; the values of the variables after it."""
        number = self._sink.next_call()
        self._sink.call(CallKind.REPLAYING, number, call.place[0], time.monotonic_ns(), 0, [earlier.number])
        self._keeper.again(earlier.number)
        inputs = stand_ins(flight.variables, flight.values, earlier.inputs)
        tf.run_function(watched, [*inputs, tf.scalar(number)], call.place[2], "")
        return flight.variables.read(inputs)

    def _replay(self, call: FunctionCall, flight: Flight, outputs: Sequence[Any] | None, sure: bool) -> Ran | None:
        watched = self._functions.again(flight.name, flight.find)
        if watched is None or flight.earlier:
            why = "its copy could not be made" if watched is None else "the calls before it do not run again"
            self._say(call, Outcome.NOT_RUN, why)
            return None
        ran = self._run(call, flight, watched, sure)
        reproduced = ran.error is not None if outputs is None else ran.bad
        if reproduced:
            return self._reproduced(
                call, ran, outputs, Outcome.UNCOMPILED if flight.outline.compiled else Outcome.AGAIN
            )
        compiled = self._run_compiled(call, flight, sure) if flight.outline.compiled and outputs is not None else None
        if compiled is not None and compiled.bad:
            return self._reproduced(call, compiled, outputs, Outcome.COMPILED)
        if sure:
            self._say(call, Outcome.NOT_REPRODUCED, _why_not(flight, ran))
        return None

    def _run_compiled(self, call: FunctionCall, flight: Flight, sure: bool) -> Ran | None:
        """Run a call again as it was, compiled, with all that is computed in it handed out."""
        room = free_memory()
        parts = self._functions.exporting(flight.name, flight.find).parts((room or MUCH) // 4)
        ran: Ran | None = None
        for watched in parts:
            self._keeper.again(0)
            one = self._run(call, flight, watched, sure, ran.number if ran is not None else None)
            ran = one if ran is None else replace(ran, bad=ran.bad or one.bad)
        return ran

    def _run(self, call: FunctionCall, flight: Flight, watched: Watched, sure: bool, number: int | None = None) -> Ran:
        site, outputs = self._places.site_of(call.place[0]), call.place[2]
        place = self._places.at(call.name, site, outputs, instance=watched.instance)
        seen = self._keeper.bad_seen()
        if number is None:
            number = self._sink.next_call()
            self._sink.call(CallKind.REPLAYING, number, place[0], time.monotonic_ns(), 0, [call.number])
        self._look_at_arguments(flight.inputs, watched, number)
        inputs = stand_ins(flight.variables, flight.values, flight.inputs)
        try:
            made = tf.run_function(watched.name, [*inputs, tf.scalar(number)], outputs, "")
        except tf.Failures as error:
            return Ran(number, watched, place, STOPPED in str(error), str(error))
        written = flight.written.read(inputs)
        bad = self._keeper.any_bad([*made, *written]) if sure else self._keeper.bad_seen() != seen
        return Ran(number, watched, place, bad, outputs=made)

    def _look_at_arguments(self, inputs: Sequence[Any], watched: Watched, number: int) -> None:
        """Also at those that were sampled before, when the call came by."""
        for at, tensor, look in strangers(inputs, self._places, self._sink, (NOBODY, ARGUMENT)):
            if look != DO_NOT_LOOK:
                self._sink.look(tensor, watched.first + at, number, tensor._id, max(look, Mode.FULL_HEALTH))

    def _reproduced(self, call: FunctionCall, ran: Ran, outputs: Sequence[Any] | None, outcome: Outcome) -> Ran:
        """From now on the call is what was seen of it when it was run again."""
        self._say(call, outcome, None)
        for index, tensor in enumerate(outputs or ran.outputs):
            self._sink.look(tensor, ran.place[1] + index, ran.number, tensor._id, Mode.NO_TENSOR)
        self._sink.call(CallKind.REPLAYED, call.number, ran.place[0], time.monotonic_ns(), 0, [ran.number])
        return replace(ran, outcome=outcome)

    def _say(self, call: FunctionCall, outcome: Outcome, why: str | None) -> None:
        self._catalog.replay({"call": call.number, "outcome": outcome.value, "function": call.name, "why": why})


def _why_not(flight: Flight, ran: Ran) -> str:
    """Return why a call went well when it was run again."""
    if ran.error is not None:
        return f"it raised when it was run again: {first_line(ran.error)}"
    random = [op for op in flight.outline.unkept if is_random(op)]
    if random:
        return f"it draws other random numbers each time ({', '.join(random)}, compiled by XLA)"
    if flight.outline.compiled:
        return "compiled by XLA, it rounds, fuses and checks differently"
    return "something in it was not the same the second time"
